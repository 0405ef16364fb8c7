import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { columns, everything, fieldOf, queryOf } from '../../../test/contracts/index-under-test.ts'
import type { IndexChange, SearchIndex } from '../../indexing/fed-index.ts'
import { noFilters } from '../../search/search-index.ts'
import { openSegmentsIndex } from './segments-index.ts'

const folder = mkdtempSync(join(tmpdir(), 'segments-purge-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Words that occur only in this text of this document: in title, body, author and tags. */
const markOf = (document: number, text: number): string => `marked-${document}-${text}-in-forty-bytes-of-text`

function put(document: number, text: number): IndexChange {
  const word = markOf(document, text)
  return {
    kind: 'put_version',
    documentId: `doc-${document}`,
    versionId: `ver-${document}-${text}`,
    columns: { ...columns, externalAuthorId: `${word}-author`, tags: [`${word}-tag`], topics: [`${word}-topic`] },
    current: true,
    title: fieldOf(`${word}-title shared`),
    chunks: [
      {
        chunkId: `chk-${document}-${text}`,
        body: fieldOf(`${word} shared`),
        vectors: [{ profileId: 'p', vector: [1, document + 1] }],
      },
    ],
  }
}

const found = async (index: SearchIndex, word: string): Promise<string[]> => {
  const request = { scope: everything, filters: { ...noFilters, includeNonCurrent: true }, timeoutMs: 30_000 }
  const page = await index.keyword({ ...request, query: queryOf(word), limit: 100, after: null, otherChunksMax: 0 })
  assert.ok(page.outcome === 'found')
  return page.hits.map(({ documentId }) => documentId).sort()
}

/** Every byte that the index has on disk. */
const onDisk = (path: string): string =>
  readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((one) => one.startsWith(path))
    .map((one) => readFileSync(one, 'latin1'))
    .join('')

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ put: fc.nat(7) }) },
  { weight: 3, arbitrary: fc.record({ retire: fc.nat(7) }) },
  { weight: 2, arbitrary: fc.record({ background: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.constant({ reopen: true }) },
  { weight: 2, arbitrary: fc.constant({ purge: true }) },
)

test('after a purge no retired word is on disk, and everything else is found as before', async () => {
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const path = join(folder, `walk-${run++}.db`)
      const index = new InProcessSegments({ path, sealChunks: 4, segmentChunks: 8 })
      /** The texts of all existing documents, and those of all that ever existed. */
      const existing = new Map<number, number[]>()
      const allWords = new Set<string>()
      let position = 0
      let text = 0
      const check = async (): Promise<void> => {
        for (const [document, texts] of existing) {
          for (const one of texts) assert.deepEqual(await found(index, markOf(document, one)), [`doc-${document}`])
        }
        const all = [...existing.keys()].map((document) => `doc-${document}`).sort()
        assert.deepEqual(await found(index, 'shared'), all)
      }
      const purge = async (): Promise<void> => {
        await index.purge()
        assert.equal((await index.health()).purgedThrough, position)
        const live = new Set([...existing].flatMap(([document, texts]) => texts.map((one) => markOf(document, one))))
        const bytes = onDisk(path)
        for (const word of allWords) assert.equal(bytes.includes(word), live.has(word), word)
      }
      try {
        for (const one of [...steps, { purge: true }]) {
          if ('put' in one) {
            // The same text returns now and then, after its words were forgotten.
            const again = text % 5 === 4 ? 0 : ++text
            await index.apply({ position: ++position, changes: [put(one.put, again)] })
            const texts = existing.get(one.put) ?? []
            existing.set(one.put, [...new Set([...texts, again])])
            allWords.add(markOf(one.put, again))
          } else if ('retire' in one) {
            const changes = [{ kind: 'retire_document', documentId: `doc-${one.retire}` } as const]
            await index.apply({ position: ++position, changes })
            existing.delete(one.retire)
          } else if ('background' in one) index.runBackground(one.background)
          else if ('reopen' in one) index.reopen()
          else await purge()
          await check()
        }
        index.reopen()
        await check()
      } finally {
        await index.close()
      }
    }),
    { numRuns: 8 },
  )
})

test('a purge runs alongside batches and searches, and resolves when it is done', async () => {
  const path = join(folder, 'threads.db')
  const index = await openSegmentsIndex({ path, readers: 1, sealChunks: 8, segmentChunks: 32 })
  try {
    for (let document = 0; document < 100; document++) {
      await index.apply({ position: document + 1, changes: [put(document, 0)] })
    }
    await index.apply({ position: 101, changes: [{ kind: 'retire_document', documentId: 'doc-50' }] })
    const purging = index.purge()
    for (let document = 100; document < 120; document++) {
      await index.apply({ position: document + 2, changes: [put(document, 0)] })
      assert.deepEqual(await found(index, markOf(document, 0)), [`doc-${document}`])
    }
    await purging
    assert.ok((await index.health()).purgedThrough >= 101)
    assert.ok(!onDisk(path).includes(markOf(50, 0)))
    assert.ok(onDisk(path).includes(markOf(51, 0)))
    assert.equal((await found(index, 'shared')).length, 100)
  } finally {
    await index.close()
  }
})

test('a purge also cleans a file from a version that did not overwrite deleted data', async () => {
  const path = join(folder, 'earlier.db')
  const index = new InProcessSegments({ path, sealChunks: 1, segmentChunks: 8 })
  for (let document = 0; document < 20; document++) {
    await index.apply({ position: document + 1, changes: [put(document, 0)] })
    index.runBackground(50)
  }
  await index.close()
  const { DatabaseSync } = await import('node:sqlite')
  const { crc32 } = await import('node:zlib')
  const db = new DatabaseSync(path)
  const { data } = db.prepare('select data from state').get() as { data: string }
  const { overwritten, ...before } = JSON.parse(data)
  assert.equal(overwritten, true)
  const text = JSON.stringify(before)
  db.prepare('update state set data = ?, crc = ?').run(text, crc32(text))
  // Left behind in a free page, as merges did then.
  db.exec(
    `pragma secure_delete = off; create table gone(data text); insert into gone values ('${markOf(3, 0)}-gone'); drop table gone`,
  )
  db.close()
  assert.ok(onDisk(path).includes(`${markOf(3, 0)}-gone`))
  const again = new InProcessSegments({ path, sealChunks: 1, segmentChunks: 8 })
  await again.apply({ position: 21, changes: [{ kind: 'retire_document', documentId: 'doc-3' }] })
  await again.purge()
  assert.ok(!onDisk(path).includes(markOf(3, 0)))
  assert.ok(onDisk(path).includes(markOf(4, 0)))
  await again.close()
})
