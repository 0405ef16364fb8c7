import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { leftInHome } from '../../../test/support/empty-home.ts'
import { bareDocument } from '../../../test/support/execute-here.ts'
import { MemoryDisk, skippedWithoutMount } from '../../../test/support/memory-disk.ts'
import type { AnalysisType } from '../../access/analysis-types.ts'
import type { InputPortion, KeptParameters } from '../algorithm.ts'
import { algorithms } from '../algorithms.ts'
import { computeInProcess } from './compute-in-process.ts'
import type { ComputeJob } from './compute-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-compute-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const dimensions = 32

/** A direction derived from the number; every tenth is all zeros, every seventh equals that of number 0. */
function vectorOf(node: number): Float32Array {
  if (node % 10 === 9) return new Float32Array(dimensions)
  const seed = node % 7 === 0 ? 0 : node
  return Float32Array.from({ length: dimensions }, (_, i) => Math.sin(seed * 12.9898 + i * 78.233 + 1))
}

async function* portions(count: number, size = 300): AsyncGenerator<InputPortion> {
  for (let start = 0; start < count; start += size) {
    const nodes = Array.from({ length: Math.min(size, count - start) }, (_, i) => start + i)
    const name = (prefix: string) => nodes.map((node) => `${prefix}_${String(node).padStart(6, '0')}`)
    yield {
      chunkIds: name('chk'),
      documentIds: name('doc'),
      versionIds: name('ver'),
      vectors: Float32Array.from(nodes.flatMap((node) => [...vectorOf(node)])),
      texts: [],
      documents: [],
    }
  }
}

let files = 0
function compute(count: number, more: { signal?: AbortSignal; k?: number; path?: string } = {}) {
  const { signal = new AbortController().signal, k = 10 } = more
  const path = more.path ?? join(folder, `${files++}.parquet`)
  const progress: number[] = []
  const job = jobOf(count, path, { k })
  const computed = computeInProcess({ job, portions: portions(count), signal, progress: (done) => progress.push(done) })
  return { path, progress, work: computed.then(({ files }) => files.edges!) }
}

const jobOf = (rowsMax: number, path: string, { k = 10, threads = 1 } = {}): ComputeJob => ({
  type: 'knn_graph',
  parameters: { k, min_similarity: null },
  rowsMax,
  dimensions,
  threads,
  series: null,
  paths: { edges: path },
})

async function read(path: string): Promise<Record<string, unknown>[]> {
  const bytes = readFileSync(path)
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
  return parquetReadObjects({ file, compressors })
}

function childProcesses(): number[] {
  return readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}

/** Returns the niceness of all threads of this process's children, except those that are just ending. */
function niceOfChildren(): number[] {
  return childProcesses().flatMap((child) => {
    try {
      return readdirSync(`/proc/${child}/task`).map((thread) => {
        const stat = readFileSync(`/proc/${child}/task/${thread}/stat`, 'utf8')
        // The name, in parentheses, may hold anything; the niceness is the 17th field after it.
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
      })
    } catch {
      return []
    }
  })
}

suite('the process of an algorithm, tested with a neighbour graph', () => {
  test('its runtime writes nothing to the home folder, so it has nothing to send to its vendor', async () => {
    assert.deepEqual(await leftInHome(() => compute(60).work), [])
  })

  test('runs all of its threads at the lowest priority', { skip: !existsSync('/proc/self/task') }, async () => {
    const seen: number[] = []
    await computeInProcess({
      job: jobOf(600, join(folder, `${files++}.parquet`), { threads: 2 }),
      portions: (async function* () {
        // The second portion is read after the process has taken the first.
        for await (const portion of portions(600)) {
          yield portion
          seen.push(...niceOfChildren())
        }
      })(),
      signal: new AbortController().signal,
      progress: () => seen.push(...niceOfChildren()),
    })
    assert.deepEqual([...new Set(seen)], [19])
  })

  test('writes the file that it reports', async () => {
    const one = compute(1200)
    const first = await one.work
    const bytes = readFileSync(one.path)
    assert.equal(first.bytes, bytes.length)
    assert.equal(first.sha256, createHash('sha256').update(bytes).digest('hex'))
    assert.equal(one.progress.at(-1), 1)
    const rows = await read(one.path)
    assert.equal(rows.length, first.rows)
    // Zero vectors have no edges, in or out.
    assert.equal(first.rows, 1200 * 0.9 * 10)
    for (const row of rows) {
      for (const end of ['source', 'target']) {
        const id = String(row[`${end}_subject_id`])
        assert.notEqual(id.at(-1), '9')
        assert.equal(row[`${end}_document_id`], id.replace('chk', 'doc'))
        assert.equal(row[`${end}_version_id`], id.replace('chk', 'ver'))
      }
    }
    const copies = rows.filter((row) => row.source_subject_id === 'chk_000000')
    assert.deepEqual(
      copies.map((row) => [row.target_subject_id, row.rank, row.similarity]),
      [7, 14, 21, 28, 35, 42, 56, 63, 70, 77].map((node, i) => [`chk_${String(node).padStart(6, '0')}`, i + 1, 1]),
    )
  })

  test('writes columns in the declared encodings, in row groups', async () => {
    const { path, work } = compute(1500, { k: 100 })
    const { rows } = await work
    const bytes = readFileSync(path)
    const metadata = await parquetMetadataAsync(
      bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer,
    )
    assert.deepEqual(
      metadata.row_groups.map((group) => Number(group.num_rows)),
      [120_000, rows - 120_000],
    )
    for (const { meta_data: column } of metadata.row_groups[0]!.columns) {
      assert.equal(column!.codec, 'ZSTD')
      const encoding = column!.path_in_schema[0] === 'similarity' ? 'BYTE_STREAM_SPLIT' : 'RLE_DICTIONARY'
      assert.ok(column!.encodings.includes(encoding), `${column!.path_in_schema}: ${column!.encodings}`)
    }
  })

  test('no chunks, or only one, give a file without rows', async () => {
    for (const count of [0, 1]) {
      const { path, work } = compute(count)
      assert.equal((await work).rows, 0)
      assert.deepEqual(await read(path), [])
    }
  })

  test('a process that exits fails the run, and leaves no process behind', {
    skip: !existsSync('/proc/self/task'),
  }, async () => {
    const pids: number[] = []
    const { signal } = new AbortController()
    const work = computeInProcess({
      job: jobOf(600, join(folder, 'dead.parquet')),
      portions: (async function* () {
        for await (const portion of portions(600)) {
          yield portion
          for (const pid of childProcesses()) {
            pids.push(pid)
            process.kill(pid, 'SIGKILL')
          }
        }
      })(),
      signal,
      progress: () => {},
    })
    await assert.rejects(work, /the process of knn_graph ended: SIGKILL/)
    assert.equal(pids.length, 1)
    assert.deepEqual(childProcesses(), [])
  })

  test('a suspended process is killed after a time, and fails the run', {
    skip: !existsSync('/proc/self/task'),
  }, async () => {
    const before = childProcesses()
    const mine = () => childProcesses().filter((pid) => !before.includes(pid))
    const work = computeInProcess(
      {
        job: jobOf(600, join(folder, `${files++}.parquet`)),
        portions: (async function* () {
          // The second portion is read after the process has taken the first, and the process never takes the second.
          for await (const portion of portions(600)) {
            yield portion
            for (const pid of mine()) process.kill(pid, 'SIGSTOP')
          }
        })(),
        signal: new AbortController().signal,
        progress: () => {},
      },
      // The process is working, but on a busy machine it may get no CPU for a while.
      { idleMaxMs: 4000 },
    )
    await assert.rejects(work, {
      name: 'CallLost',
      message: /knn_graph process hung: it used no CPU for 4 s/,
    })
    assert.deepEqual(mine(), [])
  })

  test('an error in the process reaches the parent: it never overwrites a file', async () => {
    const path = join(folder, 'taken.parquet')
    writeFileSync(path, 'mine')
    await assert.rejects(compute(10, { path }).work, /EEXIST/)
    assert.ok(existsSync(path) && readFileSync(path, 'utf8') === 'mine')
  })

  test('compiled code is cached for the next process, although the process is killed', async (t) => {
    const cache = join(folder, 'compiled')
    const { NODE_COMPILE_CACHE: before } = process.env
    t.after(() => {
      if (before === undefined) delete process.env.NODE_COMPILE_CACHE
      else process.env.NODE_COMPILE_CACHE = before
    })
    process.env.NODE_COMPILE_CACHE = cache
    await compute(10).work
    assert.ok(readdirSync(cache, { recursive: true }).length > 10)
  })

  test('is not started if the signal has already fired', async () => {
    const path = join(folder, 'never.parquet')
    await assert.rejects(compute(10, { path, signal: AbortSignal.abort(new Error('before')) }).work, /before/)
    assert.ok(!existsSync(path))
  })

  const disk = MemoryDisk.mount(1)
  test('a full disk is reported by its code', {
    skip: disk === null && skippedWithoutMount,
  }, async () => {
    disk!.fill()
    await assert.rejects(compute(2000, { path: join(disk!.folder, 'a.parquet') }).work, { code: 'ENOSPC' })
    disk!.remove()
  })
})

suite('the process of every type', () => {
  const parametersOf: Readonly<Record<AnalysisType, KeptParameters>> = {
    knn_graph: { k: 10, min_similarity: null },
    clustering: { min_cluster_size: 5, resolution: 1 },
    feature_rollup: { by: ['platform', 'topic'], bucket: 'day' },
    deduplication: { threshold: 0.9 },
  }
  const count = 1500

  async function* described(): AsyncGenerator<InputPortion> {
    let row = 0
    for await (const portion of portions(count)) {
      const rows = portion.chunkIds.map(() => row++)
      yield {
        ...portion,
        texts: rows.map((i) => `${i % 50} of many stories, written by ${i % 7} on page ${i % 3}`),
        documents: rows.map((i) => ({
          ...bareDocument,
          platform: `p${i % 3}`,
          topics: [`t${i % 20}`],
          publishedAt: i,
        })),
      }
    }
  }

  function start(
    type: AnalysisType,
    { threads = 1, signal = new AbortController().signal, progress = (_: number) => {} } = {},
  ) {
    const { needsVectors, artifacts } = algorithms[type]
    const names = Object.keys(artifacts).filter((name) => artifacts[name]!.ofSeries === undefined)
    const job: ComputeJob = {
      type,
      parameters: parametersOf[type],
      rowsMax: count,
      dimensions: needsVectors ? dimensions : 0,
      threads,
      series: null,
      paths: Object.fromEntries(names.map((name) => [name, join(folder, `${files++}.parquet`)])),
    }
    return { job, work: (input = described()) => computeInProcess({ job, portions: input, signal, progress }) }
  }

  for (const type of Object.keys(parametersOf) as AnalysisType[]) {
    test(`${type}: the same bytes with one thread and with two, and progress from 0 to 1`, async () => {
      const reported: number[] = []
      const one = await start(type, { progress: (done) => reported.push(done) }).work()
      const two = await start(type, { threads: 2 }).work()
      assert.deepEqual(two.files, one.files)
      for (const { rows } of Object.values(one.files)) assert.ok(rows > 0)
      assert.ok(reported.length > 1 && reported.every((done, i) => done >= (reported[i - 1] ?? 0)))
      assert.equal(reported.at(-1), 1)
    })

    test(`${type}: a cancel while it reads or computes ends the process and rejects`, async () => {
      const before = childProcesses()
      const cancelled = new Error('cancelled')
      const reading = new AbortController()
      const halfRead = start(type, { signal: reading.signal }).work(
        (async function* () {
          // The second portion is read after the process has taken the first.
          let taken = 0
          for await (const portion of described()) {
            if (taken++ > 0) reading.abort(cancelled)
            yield portion
          }
        })(),
      )
      await assert.rejects(halfRead, cancelled)
      assert.deepEqual(childProcesses(), before)

      const computing = new AbortController()
      const progress = (done: number) => done >= 0.5 && computing.abort(cancelled)
      await assert.rejects(start(type, { signal: computing.signal, progress }).work(), cancelled)
      assert.deepEqual(childProcesses(), before)
    })
  }
})
