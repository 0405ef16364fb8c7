import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { IndexUnderTest, ids, put } from '../../../../test/contracts/index-under-test.ts'
import { DurableFile, type SegmentRow } from '../file/durable-file.ts'
import { bytesOf } from '../memory/arena.ts'
import { TermDictionary } from '../memory/term-dictionary.ts'
import { openSegmentsIndex } from '../segments-index.ts'
import { type LoadTask, ParallelLoader, runLoadHelper } from './parallel-loader.ts'
import { type PlacedSegment, SegmentAllocator } from './segment-allocator.ts'

const folder = mkdtempSync(join(tmpdir(), 'parallel-loader-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const documents = Array.from({ length: 40 }, (_, i) => `doc-${i}`)
const layout = { readers: 1, sealChunks: 8, segmentChunks: 16, mergeFanIn: 100, helpFromBytes: 0 }

async function filled(name: string): Promise<string> {
  const path = join(folder, name)
  const index = await openSegmentsIndex({ path, ...layout })
  const it = new IndexUnderTest(index)
  for (const [i, id] of documents.entries()) {
    const vectors = [[1, i], i % 4 === 0 ? [i, 1] : [0, 1]]
    await it.apply(put(id, ['tide mark', `${id} word`], { vectors }))
  }
  await index.checkpoint()
  await index.close()
  return path
}

/** Reads what a start reads before it loads segments. */
function readHead(path: string): { dictionary: TermDictionary; rows: SegmentRow[]; classes: number } {
  const file = new DurableFile(path, '')
  const dictionary = new TermDictionary()
  for (const { count, data } of file.readTerms()) dictionary.unpack(data, count)
  const rows = file.readJson<SegmentRow>('segment').filter((row) => row.sealed)
  const classes = file.readJson('class').length
  file.close()
  return { dictionary, rows, classes }
}

/** Does all of its work before the writer starts its own. */
function helpAtOnce(task: LoadTask): void {
  new Int32Array(task.state).fill(1)
  runLoadHelper(task)
}

function load(path: string, startHelper?: (task: LoadTask) => void) {
  const { dictionary, rows, classes } = readHead(path)
  const allocator = new SegmentAllocator(dictionary, 65_536)
  allocator.arena.allocate(1)
  const placed: PlacedSegment[] = []
  using loader = new ParallelLoader({ path, dictionary: dictionary.buffers, classes, rows })
  if (startHelper !== undefined) loader.addHelper(startHelper)
  loader.load(dictionary, allocator, placed)
  const { memories } = allocator.arena
  const segments = placed.map(({ data, order, columns }) =>
    [data, order, ...columns.map(({ block }) => block)].map((block) => Buffer.from(bytesOf(memories, block))),
  )
  return { rows, segments, roles: dictionary.shapes.roles.slice(0, dictionary.size), allocator, placed }
}

test('a helper loads the same bytes as the writer would, and its memory is released like any other', async () => {
  const path = await filled('helped.db')
  const alone = load(path)
  const helped = load(path, helpAtOnce)
  assert.ok(alone.rows.length > 3)
  assert.deepEqual(helped.segments, alone.segments)
  assert.deepEqual(helped.roles, alone.roles)
  assert.ok(helped.roles.some((role) => role > 0))
  assert.ok(helped.placed.every(({ data }) => data.arena > 0))
  for (const location of helped.placed) helped.allocator.release(location)
  assert.equal(helped.allocator.arena.usedBytes, 64)
})

test('the writer does not wait for a helper that never starts', async () => {
  const path = await filled('late.db')
  const tasks: LoadTask[] = []
  const { rows, segments } = load(path, (task) => tasks.push(task))
  assert.equal(segments.length, rows.length)
  runLoadHelper(tasks[0]!)
})

test('the writer also finds damage that a helper has found', async () => {
  const path = await filled('damaged.db')
  const { rows } = readHead(path)
  const db = new DatabaseSync(path)
  db.prepare('update piece set crc = crc + 1 where id / 4096 = ?').run(rows[2]!.image.blob)
  db.close()
  assert.throws(() => load(path, helpAtOnce), /checksum of a piece/)
})

test('an index that several threads have loaded gives the same results', async () => {
  const path = await filled('whole.db')
  const answers: string[][] = []
  for (const helpFromBytes of [Number.POSITIVE_INFINITY, 0, 0, 0]) {
    const index = await openSegmentsIndex({ path, ...layout, helpFromBytes })
    try {
      const page = await index.keyword({ ...new IndexUnderTest(index).request('tide'), limit: 100 })
      assert.ok(page.outcome === 'found')
      answers.push(ids(page.hits))
    } finally {
      await index.close()
    }
  }
  assert.equal(answers[0]!.length, documents.length)
  for (const answer of answers) assert.deepEqual(answer, answers[0])
})
