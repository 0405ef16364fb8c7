import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { everything, IndexUnderTest, ids, put, timeoutMs } from '../../../../test/contracts/index-under-test.ts'
import { noFilters, type VectorRequest } from '../../../search/search-index.ts'
import type { Pool } from '../../../threads/pool.ts'
import { Control } from '../memory/control.ts'
import { TermDictionary } from '../memory/term-dictionary.ts'
import { openSegmentsIndex } from '../segments-index.ts'
import { SearchThreads } from './search-threads.ts'

const documents = Array.from({ length: 60 }, (_, i) => `doc-${i}`)
const vectors = [
  [1, 0],
  [1, 1],
]
const putVersion = (id: string, version: number) =>
  put(id, ['tide mark', 'mark tide'], { version: `${id} v${version}`, vectors })

test('a search by several threads sees each document once while documents move between segments', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'search-threads-'))
  const layout = { readers: 3, sealChunks: 8, segmentChunks: 32, mergeFanIn: 2, splitFromChunks: 0 }
  const index = await openSegmentsIndex({ path: join(folder, 'index.db'), ...layout })
  const it = new IndexUnderTest(index)
  const near = { profileId: 'p', vector: [1, 0], topK: 1000, scope: everything, filters: noFilters, timeoutMs }
  try {
    let version = 1
    let searches = 0
    await it.apply(...documents.map((id) => putVersion(id, version)))
    const all = documents.toSorted()
    const isDone = () => searches >= 200 && version >= 12
    const write = async (): Promise<void> => {
      while (!isDone()) {
        version++
        for (let from = 0; from < documents.length; from += 7) {
          await it.apply(...documents.slice(from, from + 7).map((id) => putVersion(id, version)))
        }
      }
    }
    const search = async (): Promise<void> => {
      while (!isDone()) {
        const pages = await Promise.all([index.keyword(it.request('tide')), index.vector(near)])
        for (const page of pages) {
          assert.ok(page.outcome === 'found')
          assert.deepEqual(ids(page.hits).toSorted(), all)
        }
        searches++
      }
    }
    await Promise.all([write(), search()])
  } finally {
    await index.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a search is shared by threads while there are enough for all of its kind', async () => {
  const it = new IndexUnderTest(null as never)
  const vector: VectorRequest = {
    profileId: 'p',
    vector: [1, 0],
    topK: 1,
    scope: everything,
    filters: noFilters,
    timeoutMs,
  }
  const waiting: PromiseWithResolvers<unknown>[] = []
  const pool = (threads: number): Pool =>
    ({
      size: threads,
      serving: threads,
      call: () => {
        const call = Promise.withResolvers()
        waiting.push(call)
        return call.promise
      },
    }) as unknown as Pool
  for (const [threads, expected] of [
    [1, [1, 1, 1]],
    [2, [2, 2, 1]],
    [4, [4, 4, 1]],
    [8, [4, 4, 4]],
  ] as const) {
    const searches = new SearchThreads(pool(threads), new Control(), new TermDictionary(), 0)
    const searching = [
      () => searches.search({ call: 'keyword', request: it.request('tide') }),
      () => searches.search({ call: 'vector', request: vector }),
      () => searches.search({ call: 'vector', request: vector }),
    ].map((search) => {
      const before = waiting.length
      return { answer: search(), parts: waiting.length - before }
    })
    assert.deepEqual(
      searching.map(({ parts }) => parts),
      expected,
    )
    for (const { resolve } of waiting.splice(0)) resolve({ outcome: { outcome: 'timed_out' }, state: null })
    await Promise.all(searching.map(({ answer }) => answer))
  }
})
