import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { IndexUnderTest, ids, put } from '../../../test/contracts/index-under-test.ts'
import { PoolEvents } from '../../../test/support/pool-events.ts'
import { startedThreads, threadsNamed } from '../../../test/support/started-threads.ts'
import { until } from '../../../test/support/until.ts'
import type { SearchIndex } from '../../indexing/fed-index.ts'
import { openSegmentsIndex, type SegmentsIndexOptions } from './segments-index.ts'

const folder = mkdtempSync(join(tmpdir(), 'stopped-threads-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const searchThreads = () => threadsNamed('search thread')

let files = 0
async function withIndex(
  options: Partial<SegmentsIndexOptions>,
  work: (index: SearchIndex, it: IndexUnderTest, events: PoolEvents) => Promise<void>,
): Promise<void> {
  const events = new PoolEvents()
  const index = await openSegmentsIndex({ path: join(folder, `${files++}.db`), watch: events, ...options })
  try {
    await work(index, new IndexUnderTest(index), events)
  } finally {
    await index.close()
  }
  assert.deepEqual(startedThreads, [])
}

async function found(index: SearchIndex, it: IndexUnderTest): Promise<string[]> {
  const page = await index.keyword(it.request('tide'))
  assert.ok(page.outcome === 'found', JSON.stringify(page))
  return ids(page.hits).toSorted()
}

test('when one of four search threads stops, every search is still answered and the thread is replaced', async () => {
  await withIndex({ readers: 4 }, async (index, it, events) => {
    await it.apply(put('a', ['tide']), put('b', ['tide']))
    assert.equal(searchThreads().length, 1, 'the others start when searches wait')
    while (events.count('search-threads') < 4) {
      await Promise.all(Array.from({ length: 40 }, () => found(index, it)))
    }
    await searchThreads()[0]!.terminate()
    for (let i = 0; i < 100; i++) assert.deepEqual(await found(index, it), ['a', 'b'])
    await events.serving('search-threads', 4)
    assert.deepEqual(events.exits, ['search-threads'])
    assert.deepEqual(events.replacements, ['search-threads'])
    assert.equal(searchThreads().length, 4)
    assert.deepEqual((await index.health()).warnings, [])
  })
})

test('a search thread that starts later sees all segments and every later change', async () => {
  const layout = { readers: 1, sealChunks: 4, segmentChunks: 16, mergeFanIn: 2 }
  await withIndex(layout, async (index, it) => {
    const expected: string[] = []
    for (let round = 0; round < 12; round++) {
      const [kept, changed] = [`kept ${round}`, `changed ${round}`]
      await it.apply(put(kept, ['tide mark'], { vectors: [[1, 0]] }), put(changed, ['tide']))
      expected.push(kept, changed)
      if (round % 2 === 0) await searchThreads()[0]!.terminate()
      assert.deepEqual(await found(index, it), expected.toSorted())
      // A new kind of document, a deletion, and a vector after its text.
      const columns = { language: `l${round}` }
      await it.apply(put(changed, ['ebb', 'tide'], { columns, version: `${changed} v2` }))
      await it.apply({ kind: 'retire_document', documentId: expected.shift()! })
      await it.apply({
        kind: 'set_vector',
        documentId: changed,
        chunkId: `${changed} v2 0`,
        profileId: 'p',
        vector: [0, 1],
      })
      assert.deepEqual(await found(index, it), expected.toSorted())
      const near = await index.vector({ ...it.request('tide'), profileId: 'p', vector: [0, 1], topK: 1 })
      assert.ok(near.outcome === 'found')
      assert.equal(near.hits.length, 1)
    }
  })
})

test('the memory that a search thread had pinned is freed after the thread stops', async () => {
  await withIndex({ readers: 1 }, async (index, it) => {
    const words = Array.from({ length: 100 }, (_, i) => `word${i}`).join(' ')
    const documents = Array.from({ length: 40 }, (_, i) => put(`d${i}`, Array(25).fill(`tide ${words}`)))
    await it.apply(...documents)
    let interrupted = 0
    for (let round = 1; interrupted < 3 && round < 100; round++) {
      await found(index, it)
      const search = index.keyword(it.request(words))
      // Ends the thread at a different point of the change in each round.
      for (let i = 0; i < round % 10; i++) await new Promise((resolve) => setImmediate(resolve))
      await searchThreads()[0]!.terminate()
      if ((await search).outcome !== 'unavailable') continue
      interrupted++
      // The old segments leave the list before the replacement of the thread begins to search.
      await it.apply(...documents)
      await index.checkpoint()
      // The replacement may use the old list for a moment while it catches up. Memory that stayed pinned by the stopped
      // thread would never be freed.
      await until('its memory is freed', async () => {
        const { toBeFreed, tokens } = (await index.health()).parts
        return toBeFreed! < tokens! / 10
      })
    }
    assert.equal(interrupted, 3)
  })
})

test('without a search thread the index reports that it is not searchable, and recovers', async () => {
  await withIndex({ readers: 1 }, async (index, it, events) => {
    await it.apply(put('a', ['tide']))
    const [thread] = searchThreads()
    const ended = events.nextExit('search-threads')
    await thread!.terminate()
    await ended
    const health = await index.health()
    assert.equal(health.searchable, false)
    assert.match(health.warnings.join(), /search-threads: 1 of 1 exited/)
    assert.deepEqual(await found(index, it), ['a'])
    const after = await index.health()
    assert.deepEqual([after.searchable, after.warnings], [true, []])
  })
})

test('when the writer stops, the index is unavailable until it is reopened from its file, and then takes batches again', async () => {
  await withIndex({ readers: 1 }, async (index, it, events) => {
    await it.apply(put('a', ['tide']))
    for (const documentId of ['b', 'c']) {
      const ended = events.nextExit('index-writer')
      const inFlight = index.apply({ position: null, changes: [put('d', ['tide'])] })
      const settled = Promise.allSettled([inFlight])
      await threadsNamed('index writer')[0]!.terminate()
      await ended
      await settled
      const page = await index.keyword(it.request('tide'))
      assert.equal(page.outcome, 'unavailable')
      assert.deepEqual(await index.apply({ position: null, changes: [] }), {
        outcome: 'unavailable',
        reason: 'the index thread stopped unexpectedly: the index is being reopened',
      })
      await assert.rejects(index.health(), { code: 'search_backend_unavailable' })
      await events.serving('index-writer', 1)
      await events.serving('search-threads', 1)
      await it.apply({ kind: 'retire_document', documentId: 'd' }, put(documentId, ['tide']))
      assert.ok((await found(index, it)).includes(documentId))
    }
    assert.deepEqual(await found(index, it), ['a', 'b', 'c'])
    assert.equal((await index.health()).searchable, true)
    assert.equal(startedThreads.length, 2)
  })
})
