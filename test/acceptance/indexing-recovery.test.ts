import assert from 'node:assert/strict'
import {
  closeSync,
  cpSync,
  globSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, sendLines } from './content.ts'
import { expectError } from './expect-error.ts'
import { fakeVector } from './fake-embedding.ts'
import { store } from './harness.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

/** A kill at any moment, and the loss of the index, cost only time. */
let world: SearchWorld
let sent = 0

before(async () => {
  world = await startWorld()
})

const bodyOf = (number: number): string => `Keelword appears here. Unique${number} stands alone, and more follows.`

const batch = (count: number) =>
  Array.from({ length: count }, () => {
    sent++
    return documentOf(`r-${sent}`, { title: `Number${sent}`, body: bodyOf(sent) })
  })

/** Every document is found once by a common word, by its own word and by its vector, and nothing waits. */
async function complete(): Promise<void> {
  await world.indexed()
  // Searches report missing documents until the index is known to have the last of them.
  await until('searches have all', async () => !(await world.search({ query: 'keelword', limit: 1 })).degraded)
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await world.search({ query: 'keelword', limit: 100, ...(cursor === undefined ? {} : { cursor }) })
    ids.push(...page.results.map(({ document_id }) => document_id))
    assert.equal(page.total_chunks, sent)
    assert.equal(page.degraded, false)
    cursor = page.cursor
  } while (cursor !== undefined)
  assert.equal(new Set(ids).size, sent)
  assert.equal(ids.length, sent)
  const state = await world.indexing()
  assert.equal(state.state, 'ready')
  assert.deepEqual([state.indexed_documents, state.indexed_chunks], [sent, sent])
  assert.equal(state.profiles[0].indexed_chunks, sent)
  for (const number of [1, Math.ceil(sent / 2), sent]) {
    for (const mode of ['keyword', 'hybrid']) {
      assert.equal((await world.names({ query: `unique${number}`, mode, limit: 1 }))[0], `r-${number}`, mode)
    }
    const near = await world.search({ mode: 'vector', query_vector: fakeVector(bodyOf(number)), limit: 100 })
    const same = near.results.filter(({ score }) => score > 0.999999)
    assert.ok(world.namesOf(same).includes(`r-${number}`))
  }
}

suite('kill -9', () => {
  for (const [round, waitMs] of [0, 15, 60, 150].entries()) {
    test(`in the middle of indexing and embedding, ${waitMs} ms after the answer`, async () => {
      world.embedding.delayMs = round % 2 === 0 ? 0 : 40
      await world.put(...batch(150))
      const until = performance.now() + waitMs
      while (performance.now() < until) await world.search({ query: 'keelword', limit: 5 })
      await world.server.kill9()
      world.embedding.delayMs = 0
      await world.server.start()
      await complete()
    })
  }
})

suite('the index is lost', () => {
  /** The files of the index, of any generation. The store's files are left alone. */
  const files = () =>
    globSync('search*.sqlite*', { cwd: world.server.dataDir }).map((name) => join(world.server.dataDir, name))
  const main = () => files().find((file) => file.endsWith('.sqlite'))!

  /** src/storage/segments/durability-long.test.ts tests many other damages without a server. */
  const damages: readonly (readonly [string, () => void])[] = [
    [
      'deleted',
      () => {
        for (const file of files()) rmSync(file)
      },
    ],
    ['cut in half', () => truncateSync(main(), Math.floor(statSync(main()).size / 2))],
    ['garbage in the middle', () => overwrite(main(), 0.3, 0.6)],
  ]
  // A damaged file is noticed before the store is read, so one damage is enough for the other store.
  for (const [what, damage] of store === 'sqlite' ? damages : damages.slice(0, 1)) {
    test(`${what}: it is made anew by itself, from the store`, async () => {
      assert.equal(await world.server.stop(), 0)
      assert.ok(readFileSync(main()).length > 0)
      damage()
      world.embedding.texts.length = 0
      await world.server.start()
      // Correct at every moment: not there yet, partly there with a warning, or there.
      await until('it is back', async () => {
        const answer = await world.raw({ query: 'keelword', limit: 5 })
        assert.ok([200, 503].includes(answer.status), answer.text)
        if (answer.status === 503) assert.equal(answer.body.code, 'search_backend_unavailable')
        else if (answer.body.total_chunks < sent) {
          assert.equal(answer.body.degraded, true)
          assert.ok(answer.body.warnings.some(({ code }: { code: string }) => code === 'search_index_rebuilding'))
        }
        assert.equal((await world.server.call('GET', '/healthz')).status, 200)
        const state = await world.indexing()
        return state.state === 'ready' && state.pending_documents === 0
      })
      await complete()
      // Vectors are kept in the store, and are not made again.
      assert.deepEqual(
        world.embedding.texts.filter((text) => text.includes('Keelword')),
        [],
      )
    })
  }
})

test('the index of another store in the data folder is not taken for its own', async () => {
  await world.putIndexed(...batch(20))
  const other = await startWorld()
  await other.putIndexed(documentOf('foreign', { body: 'Keelword of another store.' }))
  await other.server.stop()
  assert.equal(await world.server.stop(), 0)
  const filesOf = (dataDir: string) => globSync('search*', { cwd: dataDir }).map((name) => join(dataDir, name))
  for (const file of filesOf(world.server.dataDir)) rmSync(file)
  for (const file of filesOf(other.server.dataDir)) cpSync(file, join(world.server.dataDir, basename(file)))
  await world.server.start()
  await complete()
})

test('a rebuilt index that cannot be opened is named by readiness and /admin/v1/indexing, until it can', async () => {
  const { dataDir } = world.server
  const pointer = join(dataDir, 'search.current')
  const before = readFileSync(pointer, 'utf8')
  const next = { ...JSON.parse(before), generation: JSON.parse(before).generation + 1 }
  // There is a folder where its file should be.
  const file = join(dataDir, `search-${next.generation}.sqlite`)
  mkdirSync(file)
  writeFileSync(pointer, JSON.stringify(next))
  const named = /a rebuilt index is not served: the search index search-\d+\.sqlite in the data folder cannot be opened/
  await until('it is named', async () => (await world.indexing()).warnings.some((one: string) => named.test(one)))
  assert.match((await world.server.call('GET', '/readyz')).body.checks.index.detail, named)
  writeFileSync(pointer, before)
  rmdirSync(file)
  await until('nothing is named any more', async () => (await world.indexing()).warnings.length === 0)
  await complete()
})

test('while an index is made anew, searches find what is there and say that documents are missing', async () => {
  const large = await startWorld()
  const count = 3000
  const lines = Array.from({ length: count }, (_, i) => JSON.stringify(documentOf(`l-${i}`, { body: bodyOf(i) })))
  assert.equal((await sendLines(large.server, large.collector, lines.join('\n'))).status, 200)
  const found = () => large.search({ query: 'keelword', limit: 1, facets: ['dataset'] })
  const values = () => large.server.consumer(large.key, 'GET', '/v1/values/dataset')
  await until('all are found', async () => (await found()).total_chunks === count)
  assert.equal(await large.server.stop(), 0)
  for (const name of globSync('search*.sqlite*', { cwd: large.server.dataDir }))
    rmSync(join(large.server.dataDir, name))
  await large.server.start()
  const parts: number[] = []
  const told: string[] = []
  let refused = 0
  await until('it is whole again', async () => {
    // Counts that are too low would look right.
    const listed = await values()
    if (listed.status === 200) assert.deepEqual(listed.body.values, [{ value: 'news', count }])
    else {
      await expectError(large.server, listed, 503, 'catalog_unavailable')
      assert.equal(listed.headers.get('retry-after'), '1')
      refused++
    }
    const { body } = await large.server.call('GET', '/readyz')
    const { ok, detail } = body.checks.index
    told.push(detail)
    // On a database that other processes can serve too, a process waits until its index is complete.
    assert.equal(ok, store === 'sqlite' || !detail.includes('being filled'), detail)
    const { total_chunks, degraded, warnings, facets_exact } = await found()
    assert.equal(facets_exact, !degraded)
    assert.deepEqual(
      warnings.map(({ code }) => code),
      degraded ? ['search_index_rebuilding'] : [],
    )
    if (total_chunks < count) {
      assert.equal(degraded, true)
      parts.push(total_chunks)
    }
    return !degraded
  })
  assert.match(told[0]!, /the index is being filled from the store/)
  assert.ok(told.every((detail) => !detail.includes('embedding endpoint')))
  assert.ok(parts.length > 0, 'no search came before the index was whole')
  assert.ok(refused > 0, 'no values were asked for before the index was whole')
  assert.equal((await found()).total_chunks, count)
  assert.equal(await large.server.stop(), 0)
  // An expected state is logged when it starts, not by each search meanwhile.
  const { logs } = large.server
  assert.deepEqual(
    logs.filter(({ warning }) => warning === 'search_index_rebuilding'),
    [],
  )
  const begun = logs.filter(({ msg }) => String(msg).startsWith('the search index is catching up'))
  assert.equal(begun.length, 1)
})

/** Overwrites a part of the file with bytes that no index contains. */
function overwrite(file: string, from: number, to: number): void {
  const { size } = statSync(file)
  const start = Math.floor(size * from)
  const garbage = Buffer.alloc(Math.max(1, Math.floor(size * to) - start))
  for (let i = 0; i < garbage.length; i++) garbage[i] = (i * 131 + 7) % 251
  const handle = openSync(file, 'r+')
  writeSync(handle, garbage, 0, garbage.length, start)
  closeSync(handle)
}
