import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, suite, test } from 'node:test'
import fc from 'fast-check'
import { BruteForceIndex } from '../../../test/contracts/brute-force-index.ts'
import { batchAt } from '../../../test/contracts/crash/batches.ts'
import { crashRounds } from '../../../test/contracts/crash/crash-rounds.ts'
import { InProcessSegments } from '../../../test/contracts/in-process-segments.ts'
import { everything, listing, put, queryOf } from '../../../test/contracts/index-under-test.ts'
import { until } from '../../../test/support/until.ts'
import { noFilters } from '../../search/search-index.ts'
import { openSegmentsIndex } from './segments-index.ts'

const folder = mkdtempSync(join(tmpdir(), 'segments-durability-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('a writer that is killed loses nothing it acknowledged and leaves nothing twice', async () => {
  assert.ok((await crashRounds(folder, 4, () => undefined)) > 10)
})

test('a damaged file gives the right results or needs a rebuild', async () => {
  const path = join(folder, 'whole.db')
  const damaged = join(folder, 'damaged.db')
  const layout = { sealChunks: 40, segmentChunks: 200 }
  const whole = new InProcessSegments({ path, ...layout })
  const expected = new BruteForceIndex()
  for (let position = 1; position <= 60; position++) {
    await whole.apply(batchAt(position))
    await expected.apply(batchAt(position))
    whole.runBackground(3)
  }
  await whole.close()
  const bytes = readFileSync(path)
  const scope = { entries: [{ ...everything.entries[0]!, datasets: ['d0', 'd1', 'd2'] }] }
  const request = { query: queryOf('alpha'), scope, filters: noFilters, limit: 500, after: null, otherChunksMax: 9 }
  const correct = await expected.keyword({ ...request, timeoutMs: 60_000 })
  assert.ok(correct.outcome === 'found')
  const outcomes: ('answered' | 'rebuilt')[] = []
  /** Opens a file with this content as an index. */
  const outcomeOf = async (content: Uint8Array): Promise<'answered' | 'rebuilt'> => {
    for (const end of ['-wal', '-shm']) rmSync(damaged + end, { force: true })
    writeFileSync(damaged, content)
    const index = new InProcessSegments({ path: damaged, ...layout })
    try {
      const health = await index.health()
      if (health.state === 'ready' && health.position > 0) {
        const found = await index.keyword({ ...request, timeoutMs: 60_000 })
        assert.ok(found.outcome === 'found')
        assert.equal(found.totalChunks, correct.totalChunks)
        assert.equal(health.position, 60)
        return 'answered'
      }
      assert.ok(health.reason !== '' || health.position === 0)
      await index.clear()
      await index.apply({ position: 1, changes: [put('d1', ['back again'])] })
      assert.equal((await index.health()).state, 'ready')
      return 'rebuilt'
    } finally {
      await index.close()
    }
  }
  await fc.assert(
    fc.asyncProperty(
      fc.nat(bytes.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      async (at, flip, cut) => {
        const copy = Buffer.from(bytes)
        copy[at]! ^= flip
        outcomes.push(await outcomeOf(cut ? copy.subarray(0, at) : copy))
      },
    ),
    { numRuns: 60 },
  )
  const rebuilt = outcomes.filter((outcome) => outcome === 'rebuilt').length
  assert.ok(rebuilt > 5 && rebuilt < outcomes.length, `${rebuilt} rebuilds of ${outcomes.length}`)

  const tables = new DatabaseSync(path, { readOnly: true })
  const rows = ['state', 'term', 'class', 'profile', 'segment', 'piece', 'death', 'late_vector'].flatMap((table) =>
    tables
      .prepare(`select rowid as id from ${table}`)
      .all()
      .map(({ id }) => ({ table, id: Number(id) })),
  )
  tables.close()
  const missing = join(folder, 'missing.db')
  for (const { table, id } of rows) {
    writeFileSync(missing, bytes)
    const db = new DatabaseSync(missing)
    db.exec(`delete from ${table} where rowid = ${id}`)
    db.close()
    const outcome = await outcomeOf(readFileSync(missing))
    // Pieces that a crash left behind belong to no blob.
    if (table !== 'piece') assert.equal(outcome, 'rebuilt', `without row ${id} of ${table}`)
  }

  const garbage = Buffer.from(bytes.map((_, i) => (i * 131 + 7) % 251))
  const overwritten = (part: number) => {
    const length = Math.ceil(bytes.length * part)
    return Buffer.concat([garbage.subarray(0, length), bytes.subarray(length)])
  }
  assert.equal(await outcomeOf(Buffer.alloc(0)), 'rebuilt', 'cut to nothing')
  assert.equal(await outcomeOf(overwritten(0.01)), 'rebuilt', 'garbage at the start')
  assert.equal(await outcomeOf(overwritten(1)), 'rebuilt', 'garbage everywhere')
})

test('a file that is not an index needs a rebuild, and can be cleared and filled', async () => {
  const path = join(folder, 'text.db')
  writeFileSync(path, 'this is not an index')
  const index = await openSegmentsIndex({ path, readers: 1 })
  try {
    assert.equal((await index.health()).state, 'needs_rebuild')
    assert.equal((await index.values(listing)).outcome, 'unavailable')
    assert.equal((await index.apply({ position: 1, changes: [] })).outcome, 'unavailable')
    await index.clear()
    await index.apply({ position: 1, changes: [put('d1', ['word'])] })
    const values = [{ value: 'news', count: 1 }]
    assert.deepEqual(await index.values(listing), { outcome: 'found', values, next: null })
  } finally {
    await index.close()
  }
})

test('an index can be open only once, and its file can be copied when it is closed', async () => {
  const path = join(folder, 'one.db')
  const first = await openSegmentsIndex({ path, readers: 1 })
  await first.apply({ position: 7, changes: [put('d1', ['word'])] })
  await assert.rejects(openSegmentsIndex({ path, readers: 1 }), /is served by another process/)
  await first.close()
  await assert.rejects(first.health())
  copyFileSync(path, join(folder, 'two.db'))
  const second = await openSegmentsIndex({ path: join(folder, 'two.db'), readers: 1 })
  assert.equal((await second.health()).position, 7)
  await second.close()
})

test('an index with terms of other rules needs a rebuild', async () => {
  const path = join(folder, 'rules.db')
  const before = await openSegmentsIndex({ path, readers: 1, analysis: 'one' })
  await before.apply({ position: 3, changes: [put('d1', ['word'])] })
  await before.close()
  const after = await openSegmentsIndex({ path, readers: 1, analysis: 'two' })
  assert.equal((await after.health()).state, 'needs_rebuild')
  await after.clear()
  assert.equal((await after.health()).position, 0)
  await after.close()
})

/** A closed index with several sealed segments and a vector for each chunk. */
async function withVectors(path: string): Promise<void> {
  const index = await openSegmentsIndex({ path, readers: 1, sealChunks: 64 })
  for (let position = 1; position <= 10; position++) {
    const changes = Array.from({ length: 40 }, (_, i) => {
      const n = position * 40 + i
      return put(`d${n}`, [`word ${n}`], { vectors: [unitVector(n)] })
    })
    await index.apply({ position, changes })
  }
  await index.checkpoint()
  await index.close()
}

const unitVector = (n: number): number[] => Array.from({ length: 64 }, (_, i) => Math.sin(n * 7 + i * (n % 13)))

/** The pages of the file that hold rows of the table. */
function leafPages(path: string, table: string): { readonly number: number; readonly bytes: number }[] {
  const bytes = readFileSync(path)
  const size = bytes.readUInt16BE(16) === 1 ? 65_536 : bytes.readUInt16BE(16)
  const db = new DatabaseSync(path, { readOnly: true })
  const { rootpage } = db.prepare('select rootpage from sqlite_schema where name = ?').get(table) as {
    rootpage: number
  }
  db.close()
  const children = (number: number): number[] => {
    const page = bytes.subarray((number - 1) * size, number * size)
    // 5 is an interior page of a table: each cell starts with the number of a child, and the last child is in the
    // header.
    if (page[0] !== 5) return [number]
    const cells = Array.from({ length: page.readUInt16BE(3) }, (_, i) =>
      page.readUInt32BE(page.readUInt16BE(12 + i * 2)),
    )
    return [...cells, page.readUInt32BE(8)].flatMap(children)
  }
  return children(rootpage).map((number) => ({ number, bytes: size }))
}

const nearest = (n: number) => ({
  profileId: 'p',
  vector: unitVector(n),
  scope: everything,
  filters: noFilters,
  topK: 20,
  timeoutMs: 60_000,
})

suite('vectors of sealed segments, which are not read when the file is opened', () => {
  const damages: Record<string, (path: string) => void> = {
    'missing rows': (path) => {
      const db = new DatabaseSync(path)
      db.exec('delete from vector where id % 2 = 0')
      db.close()
    },
    'overwritten rows': (path) => {
      const db = new DatabaseSync(path)
      db.exec('update vector set data = zeroblob(length(data)) where id % 2 = 0')
      db.close()
    },
    'an unreadable page': (path) => {
      const bytes = readFileSync(path)
      for (const { number, bytes: size } of leafPages(path, 'vector')) bytes.fill(0, (number - 1) * size, number * size)
      writeFileSync(path, bytes)
    },
  }
  for (const [name, damage] of Object.entries(damages)) {
    test(`${name}: a search finds the damage, and the index needs a rebuild`, async () => {
      const path = join(folder, `${name}.db`)
      await withVectors(path)
      damage(path)
      const index = await openSegmentsIndex({ path, readers: 1 })
      assert.equal((await index.health()).state, 'ready')
      assert.equal((await index.vector(nearest(50))).outcome, 'found')
      await until('the damage is found', async () => !index.isSound)
      assert.equal((await index.vector(nearest(50))).outcome, 'unavailable')
      const { state, reason, searchable } = await index.health()
      assert.deepEqual({ state, searchable }, { state: 'needs_rebuild', searchable: false })
      assert.match(reason, /missing or damaged|malformed/)
      await index.clear()
      assert.equal(index.isSound, true)
      await index.apply({ position: 1, changes: [put('d1', ['word'], { vectors: [unitVector(1)] })] })
      const found = await index.vector(nearest(1))
      assert.ok(found.outcome === 'found' && found.hits.length === 1)
      await index.close()
    })
  }

  test('a batch that cannot be written because of an unreadable page is refused, and the index needs a rebuild', async () => {
    const path = join(folder, 'unwritable page.db')
    await withVectors(path)
    damages['an unreadable page']!(path)
    const index = await openSegmentsIndex({ path, readers: 1 })
    const changes = Array.from({ length: 440 }, (_, n) => ({ kind: 'retire_document' as const, documentId: `d${n}` }))
    await until('it is refused', async () => {
      const { position } = await index.health()
      return (await index.apply({ position: position + 1, changes })).outcome === 'unavailable' || !index.isSound
    })
    await until('the damage is found', async () => !index.isSound)
    assert.equal((await index.health()).state, 'needs_rebuild')
    await index.clear()
    assert.equal((await index.apply({ position: 1, changes: [put('d1', ['word'])] })).outcome, 'applied')
    await index.close()
  })

  test('missing vectors of deleted chunks are not damage', async () => {
    const path = join(folder, 'gone.db')
    await withVectors(path)
    const index = await openSegmentsIndex({ path, readers: 1 })
    let position = 10
    for (let n = 40; n < 440; n += 10) {
      const changes = Array.from({ length: 10 }, (_, i) => ({
        kind: 'retire_document' as const,
        documentId: `d${n + i}`,
      }))
      const searches = Array.from({ length: 4 }, (_, i) => index.vector(nearest(n + i)))
      await Promise.all([index.apply({ position: ++position, changes }), ...searches])
    }
    await index.purge()
    assert.equal(index.isSound, true)
    assert.equal((await index.health()).state, 'ready')
    await index.close()
  })
})
