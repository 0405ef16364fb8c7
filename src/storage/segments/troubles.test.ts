import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, suite, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { everything, queryOf } from '../../../test/contracts/index-under-test.ts'
import { plainColumns } from '../../../test/support/plain-columns.ts'
import type { IndexChange } from '../../indexing/fed-index.ts'
import { noFilters } from '../../search/search-index.ts'

const folder = mkdtempSync(join(tmpdir(), 'segments-troubles-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/**
 * Runs the work while the engine refuses to create a memory, as it does when the system has none left. Modules that use
 * a memory must not be compiled meanwhile: that ends the process.
 */
async function withoutMemory(work: () => unknown): Promise<void> {
  setFlagsFromString('--wasm-max-mem-pages=0')
  try {
    await work()
  } finally {
    setFlagsFromString('--wasm-max-mem-pages=65536')
  }
}

const noMemory = { name: 'RangeError', message: /could not allocate memory/ }
const locked = /database is locked/

const dimensions = 64
let files = 0
const newPath = (): string => join(folder, `index-${files++}.db`)
const open = (path: string, limits: { sealChunks?: number; segmentChunks?: number } = {}): InProcessSegments =>
  new InProcessSegments({ path, sealChunks: 100, segmentChunks: 1000, arenaBytes: 1, ...limits })

const vectorOf = (seed: number): number[] => Array.from({ length: dimensions }, (_, i) => Math.sin(seed + i))

/** A document whose segment takes more than one page of memory. */
function documentOf(name: string, more: { chunks?: number; vector?: number[] } = {}): IndexChange {
  const terms = Array.from({ length: 8000 }, (_, i) => (i === 0 ? 'word' : `w${i % 50}`))
  const body = { terms, positions: terms.map((_, i) => i), length: terms.length }
  const chunk = (i: number) => ({
    chunkId: `${name}-${i}`,
    body: i === 0 ? body : { terms: ['word'], positions: [0], length: 1 },
    vectors: more.vector === undefined ? [] : [{ profileId: 'p', vector: more.vector }],
  })
  return {
    kind: 'put_version',
    documentId: name,
    versionId: `${name}-v`,
    columns: plainColumns,
    current: true,
    title: { terms: [], positions: [], length: 0 },
    chunks: Array.from({ length: more.chunks ?? 1 }, (_, i) => chunk(i)),
  }
}

const scope = { entries: [{ ...everything.entries[0]!, datasets: ['d'] }] }
const request = { scope, filters: noFilters, timeoutMs: 60_000 }

/** The documents that a search finds, in order, with duplicates. */
async function found(index: InProcessSegments): Promise<string[]> {
  const outcome = await index.keyword({
    ...request,
    query: queryOf('word'),
    limit: 100,
    after: null,
    otherChunksMax: 0,
  })
  assert.ok(outcome.outcome === 'found')
  assert.equal((await index.health()).documents, outcome.hits.length)
  return outcome.hits.map(({ documentId }) => documentId).sort()
}

async function foundNear(index: InProcessSegments, vector: number[]): Promise<string[]> {
  const outcome = await index.vector({ ...request, profileId: 'p', vector, topK: 1000 })
  assert.ok(outcome.outcome === 'found')
  return outcome.hits.map(({ documentId }) => documentId).sort()
}

/** Memory that belongs to no segment, except for rounding. */
async function lostBytes(index: InProcessSegments): Promise<number> {
  const { parts, segments } = await index.health()
  return Math.max(0, parts.toBeFreed! - segments * 512)
}

/** Rows of the file for data that is not in segments yet. */
function leftInFile(path: string): Record<string, number> {
  const db = new DatabaseSync(path, { readOnly: true })
  const count = (table: string) => Number(db.prepare(`select count(*) as n from ${table}`).get()!.n)
  const left = { death: count('death'), late_vector: count('late_vector'), segment: count('segment') }
  db.close()
  return left
}

/** Runs the work while another connection holds the file's write lock. */
async function whileLocked(path: string, work: () => unknown): Promise<void> {
  const db = new DatabaseSync(path)
  db.exec('begin immediate')
  try {
    await work()
  } finally {
    db.exec('rollback')
    db.close()
  }
}

suite('when memory or the file fails', () => {
  test('a batch leaves nothing in the file or in memory, and can be sent again', async () => {
    const path = newPath()
    const index = open(path, { sealChunks: 1 })
    await index.apply({ position: 1, changes: [documentOf('a'), documentOf('gone', { chunks: 3000 })] })
    await index.apply({ position: 2, changes: [{ kind: 'retire_document', documentId: 'gone' }] })
    index.runBackground(10)
    // The texts fit into the freed memory, but the vectors do not.
    const vector = Array.from({ length: 4096 }, (_, i) => Math.sin(i))
    const batch = { position: 3, changes: [documentOf('b', { chunks: 100, vector })] }
    for (let i = 0; i < 5; i++) await withoutMemory(() => assert.rejects(index.apply(batch), noMemory))
    assert.equal((await index.health()).position, 2)
    await whileLocked(path, () => assert.rejects(index.apply(batch), locked))
    assert.equal(await lostBytes(index), 0)
    await index.apply(batch)
    assert.deepEqual(await found(index), ['a', 'b'])
    assert.equal(await lostBytes(index), 0)
    await index.close()
  })

  test('late vectors are both in the file and searchable, or neither', async () => {
    const index = open(newPath())
    await index.apply({ position: 1, changes: [documentOf('a', { chunks: 2000 })] })
    const vector = vectorOf(1)
    const batch = {
      position: 2,
      changes: [{ kind: 'set_vector' as const, documentId: 'a', chunkId: 'a-7', profileId: 'p', vector }],
    }
    await withoutMemory(() => assert.rejects(index.apply(batch), noMemory))
    assert.equal((await index.health()).position, 1)
    await index.apply(batch)
    assert.equal((await index.health()).position, 2)
    assert.deepEqual(await foundNear(index, vector), ['a'])
    index.reopen()
    assert.deepEqual(await foundNear(index, vector), ['a'])
    await index.close()
  })

  test('the small segments stay until they are sealed, once', async () => {
    const path = newPath()
    const index = open(path, { sealChunks: 3 })
    for (const [i, name] of ['a', 'b', 'c'].entries())
      await index.apply({ position: i + 1, changes: [documentOf(name)] })
    for (let i = 0; i < 3; i++) await withoutMemory(() => assert.throws(() => index.runBackground(1), noMemory))
    await whileLocked(path, () => assert.throws(() => index.runBackground(1), locked))
    assert.deepEqual(await found(index), ['a', 'b', 'c'])
    assert.equal(await lostBytes(index), 0)
    index.runBackground(100)
    assert.deepEqual(await found(index), ['a', 'b', 'c'])
    assert.equal(leftInFile(path).segment, 1)
    index.reopen()
    assert.deepEqual(await found(index), ['a', 'b', 'c'])
    await index.close()
  })

  test('the sources of a merge that cannot be started or installed stay, and are merged later', async () => {
    const path = newPath()
    const index = open(path, { sealChunks: 1 })
    const put = async (position: number, ...changes: IndexChange[]) => {
      await index.apply({ position, changes })
      index.runBackground(1)
    }
    index.refusesThreads = true
    // The first segment gets a late vector and a deletion. The two others together fit into no free block.
    await put(1, documentOf('c'), documentOf('d'))
    await put(2, documentOf('a', { chunks: 400, vector: vectorOf(1) }))
    await put(3, documentOf('b', { chunks: 400, vector: vectorOf(2) }))
    const late = { kind: 'set_vector' as const, documentId: 'c', chunkId: 'c-0', profileId: 'p', vector: vectorOf(3) }
    await index.apply({ position: 4, changes: [late, { kind: 'retire_document', documentId: 'd' }] })
    assert.throws(() => index.runBackground(10), /no thread can be started/)
    index.refusesThreads = false
    // The task of the merge, the merge itself, and its installation.
    await withoutMemory(() => assert.throws(() => index.runBackground(10), noMemory))
    assert.deepEqual(await found(index), ['a', 'b', 'c'])
    index.runBackground(100)
    await index.checkpoint()
    assert.ok(index.merges > 0)
    assert.deepEqual(await found(index), ['a', 'b', 'c'])
    assert.deepEqual(await foundNear(index, vectorOf(3)), ['a', 'b', 'c'])
    assert.deepEqual(leftInFile(path), { death: 0, late_vector: 0, segment: 1 })
    assert.equal(await lostBytes(index), 0)
    index.reopen()
    assert.deepEqual(await found(index), ['a', 'b', 'c'])
    await index.close()
  })

  test('with a file that cannot be written at times, all work is done in the end and nothing is left over', async () => {
    const path = newPath()
    const index = open(path, { sealChunks: 1, segmentChunks: 5000 })
    let failed = 0
    const withFailures = async (steps: number): Promise<void> => {
      for (let i = 0; i < steps; i++) {
        await whileLocked(path, () => {
          try {
            index.runBackground(1)
          } catch (error) {
            assert.match(String(error), locked)
            failed++
          }
        })
        index.runBackground(1 + (i % 6))
      }
    }
    for (let i = 1; i <= 3; i++) {
      await index.apply({ position: i, changes: [documentOf(`d${i}`, { chunks: 1500, vector: vectorOf(i) })] })
      await withFailures(2)
    }
    const late = Array.from({ length: 1400 }, (_, i) => ({
      kind: 'set_vector' as const,
      documentId: 'd1',
      chunkId: `d1-${i}`,
      profileId: 'q',
      vector: vectorOf(9),
    }))
    await index.apply({ position: 4, changes: late })
    await withFailures(40)
    assert.ok(failed > 5, `${failed} steps failed`)
    assert.deepEqual(leftInFile(path).death, 0)
    assert.deepEqual(leftInFile(path).late_vector, 0)
    assert.deepEqual(await found(index), ['d1', 'd2', 'd3'])
    index.reopen()
    assert.deepEqual(await found(index), ['d1', 'd2', 'd3'])
    await index.close()
  })

  test('the memory that was loaded before damage was found is released', async () => {
    const path = newPath()
    const index = open(path, { sealChunks: 1 })
    index.refusesThreads = true
    for (const [i, name] of ['a', 'b', 'c'].entries()) {
      await index.apply({ position: i + 1, changes: [documentOf(name, { vector: vectorOf(i) })] })
      index.runBackground(1)
    }
    await index.checkpoint()
    await index.close()
    const bytes = readFileSync(path)
    // The ids of the last document are in its segment data.
    bytes[bytes.lastIndexOf('c-v')]! ^= 1
    writeFileSync(path, bytes)
    const damaged = open(path)
    const health = await damaged.health()
    assert.equal(health.state, 'needs_rebuild')
    assert.equal(health.parts.toBeFreed, 0)
    assert.ok(health.parts.spare! > 0, 'something was loaded')
    await damaged.clear()
    await damaged.apply({ position: 1, changes: [documentOf('a')] })
    assert.deepEqual(await found(damaged), ['a'])
    await damaged.close()
  })
})
