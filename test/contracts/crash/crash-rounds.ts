import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Scope } from '../../../src/access/scope.ts'
import type { SearchIndex } from '../../../src/indexing/fed-index.ts'
import { noFilters } from '../../../src/search/search-index.ts'
import { openSegmentsIndex } from '../../../src/storage/segments/segments-index.ts'
import { BruteForceIndex } from '../brute-force-index.ts'
import { listing, queryOf } from '../index-under-test.ts'
import { askedWords, batchAt, dimensions, layout } from './batches.ts'

const timeoutMs = 60_000
const scope: Scope = {
  entries: [
    {
      datasets: ['d0', 'd1', 'd2'],
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: ['title', 'body'],
    },
  ],
}

/**
 * Kills a writing process during its work, again and again on the same file, and compares the result with an index that
 * got the same batches undisturbed. Returns the position reached.
 */
export async function crashRounds(folder: string, rounds: number, report: (line: string) => void): Promise<number> {
  const path = join(folder, 'crash.db')
  const expected = new BruteForceIndex()
  let reached = 0
  for (let round = 1; round <= rounds; round++) {
    const acknowledged = await writeUntilKilled(path, 30 + ((round * 137) % 500))
    const index = await openSegmentsIndex({ path, ...layout })
    const { state, reason, position, segments, deletedChunks } = await index.health()
    assert.equal(state, 'ready', reason)
    // The batch in progress may be there or not. Every acknowledged batch must be.
    assert.ok(position >= acknowledged && position <= acknowledged + 1, `${position} after ${acknowledged}`)
    while (reached < position) await expected.apply(batchAt(++reached))
    await assertSame(index, expected)
    await index.close()
    report(`round ${round}: position ${position}, ${segments} segments, ${deletedChunks} dead chunks`)
  }
  return reached
}

/** Returns the last position that the process acknowledged. */
async function writeUntilKilled(path: string, ms: number): Promise<number> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./writer.ts', import.meta.url)), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  while (said === '' && child.exitCode === null) await wait(5)
  await wait(ms)
  child.kill('SIGKILL')
  await once(child, 'close')
  assert.equal(child.signalCode, 'SIGKILL', `the writer ended by itself: ${child.exitCode}`)
  return Number(said.trimEnd().split('\n').at(-1))
}

async function assertSame(index: SearchIndex, expected: SearchIndex): Promise<void> {
  const datasets = { ...listing, scope }
  assert.deepEqual(await index.values(datasets), await expected.values(datasets))
  for (const includeNonCurrent of [false, true]) {
    const filters = { ...noFilters, includeNonCurrent }
    for (const word of askedWords) {
      const request = { query: queryOf(word), scope, filters, limit: 500, after: null, otherChunksMax: 500, timeoutMs }
      const [found, wanted] = [await index.keyword(request), await expected.keyword(request)]
      assert.ok(found.outcome === 'found' && wanted.outcome === 'found')
      assert.equal(found.totalChunks, wanted.totalChunks)
      const scores = new Map(wanted.hits.map((hit) => [hit.documentId, hit]))
      assert.equal(found.hits.length, wanted.hits.length)
      for (const hit of found.hits) {
        const other = scores.get(hit.documentId)!
        assert.ok(Math.abs(hit.score - other.score) < 1e-6)
        assert.equal(hit.otherChunks.length, other.otherChunks.length)
      }
    }
    const vector = Array.from({ length: dimensions }, (_, i) => i - 3.5)
    const near = { profileId: 'p', vector, scope, filters, topK: 1000, timeoutMs }
    const [found, wanted] = [await index.vector(near), await expected.vector(near)]
    assert.ok(found.outcome === 'found' && wanted.outcome === 'found')
    const scores = new Map(wanted.hits.map((hit) => [hit.documentId, hit.score]))
    assert.equal(found.hits.length, wanted.hits.length)
    for (const hit of found.hits) assert.ok(Math.abs(hit.score - scores.get(hit.documentId)!) < 1e-6)
  }
}
