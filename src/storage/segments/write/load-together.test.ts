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
import { helpToLoad, LoadingTogether, type LoadOrder } from './load-together.ts'
import { type PlacedSegment, SegmentRooms } from './segment-rooms.ts'

const folder = mkdtempSync(join(tmpdir(), 'load-together-'))
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

/** The work of a start before segments are loaded. */
function begin(path: string): { dictionary: TermDictionary; rows: SegmentRow[]; classes: number } {
  const file = new DurableFile(path, '')
  const dictionary = new TermDictionary()
  for (const { count, data } of file.readTerms()) dictionary.unpack(data, count)
  const rows = file.readJson<SegmentRow>('segment').filter((row) => row.sealed)
  const classes = file.readJson('class').length
  file.close()
  return { dictionary, rows, classes }
}

/** Does all of its work before the writer begins its own. */
function helpAtOnce(order: LoadOrder): void {
  new Int32Array(order.state).fill(1)
  helpToLoad(order)
}

function load(path: string, startHelper?: (order: LoadOrder) => void) {
  const { dictionary, rows, classes } = begin(path)
  const rooms = new SegmentRooms(dictionary, 65_536)
  rooms.arena.allocate(1)
  const placed: PlacedSegment[] = []
  using together = new LoadingTogether({ path, dictionary: dictionary.buffers, classes, rows })
  if (startHelper !== undefined) together.addHelper(startHelper)
  together.load(dictionary, rooms, placed)
  const { memories } = rooms.arena
  const segments = placed.map(({ image, order, columns }) =>
    [image, order, ...columns.map(({ block }) => block)].map((block) => Buffer.from(bytesOf(memories, block))),
  )
  return { rows, segments, roles: dictionary.shapes.roles.slice(0, dictionary.size), rooms, placed }
}

test('what a helper has loaded is what the writer would have loaded, and its memory is given back like any other', async () => {
  const path = await filled('helped.db')
  const alone = load(path)
  const helped = load(path, helpAtOnce)
  assert.ok(alone.rows.length > 3)
  assert.deepEqual(helped.segments, alone.segments)
  assert.deepEqual(helped.roles, alone.roles)
  assert.ok(helped.roles.some((role) => role > 0))
  assert.ok(helped.placed.every(({ image }) => image.arena > 0))
  for (const place of helped.placed) helped.rooms.release(place)
  assert.equal(helped.rooms.arena.usedBytes, 64)
})

test('a helper that never comes is not waited for', async () => {
  const path = await filled('late.db')
  const orders: LoadOrder[] = []
  const { rows, segments } = load(path, (order) => orders.push(order))
  assert.equal(segments.length, rows.length)
  helpToLoad(orders[0]!)
})

test('damage that a helper meets is met by the writer too', async () => {
  const path = await filled('damaged.db')
  const { rows } = begin(path)
  const db = new DatabaseSync(path)
  db.prepare('update piece set crc = crc + 1 where id / 4096 = ?').run(rows[2]!.image.blob)
  db.close()
  assert.throws(() => load(path, helpAtOnce), /checksum of a piece/)
})

test('an index that several threads have loaded answers as before', async () => {
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
