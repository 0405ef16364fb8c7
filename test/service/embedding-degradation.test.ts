import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { documentOf } from '../acceptance/content.ts'
import { type Behaviour, FakeEmbedding, fakeDimensions, fakeProfile, fakeVector } from '../acceptance/fake-embedding.ts'
import type { Answer } from '../acceptance/harness.ts'
import { codes, SearchWorld, startWorld } from '../acceptance/search-world.ts'
import { until } from '../support/until.ts'

/** Searches while the embedding endpoint fails, and after its recovery. */
/** Far more than the limits of a search, far less than an endpoint that hangs. */
const answersWithinMs = 60_000
const text = { title: 'Buoyword', body: 'Buoyword marks the channel at night.' }

/** Never the same query twice, because vectors of queries are cached. */
let queries = 0
const freshQuery = (): string => `buoyword ${++queries}x`

async function timed<T>(work: Promise<T>): Promise<T> {
  const startedMs = performance.now()
  const result = await work
  const takenMs = performance.now() - startedMs
  assert.ok(takenMs < answersWithinMs, `${Math.round(takenMs)} ms`)
  return result
}

/** Keyword search works as usual. Vector and hybrid search return keyword results with a warning. */
async function reduced(world: SearchWorld, names: readonly string[]): Promise<void> {
  const keyword = await world.search({ query: freshQuery() })
  assert.deepEqual([keyword.degraded, codes(keyword)], [false, []])
  assert.deepEqual(world.namesOf(keyword.results).sort(), names)
  const [vector, hybrid] = await Promise.all(
    ['vector', 'hybrid'].map((mode) => timed(world.search({ mode, query: freshQuery() }))),
  )
  for (const found of [vector!, hybrid!]) {
    assert.deepEqual([found.degraded, codes(found)], [true, ['vector_search_unavailable']])
    assert.deepEqual(world.namesOf(found.results).sort(), names, found.mode)
    for (const hit of found.results) assert.equal(typeof hit.keyword_score, 'number')
    assert.equal(found.cursor, undefined)
  }
  assert.equal(vector!.mode, 'vector')
  assert.ok(vector!.results.every(({ vector_score }) => vector_score === null))
}

async function whole(world: SearchWorld): Promise<void> {
  for (const mode of ['vector', 'hybrid']) {
    const found = await world.search({ mode, query: freshQuery() })
    assert.deepEqual([found.degraded, codes(found)], [false, []], mode)
  }
}

const profile = async (world: SearchWorld): Promise<Answer['body']> => {
  const { embedding_profiles } = await world.server.mustAdmin('GET', '/admin/v1/embedding-profiles')
  return embedding_profiles.find(({ embedding_profile_id, id }: Record<string, string>) =>
    [embedding_profile_id, id].includes(fakeProfile),
  )
}

/** After the recovery, searches are complete again and missing vectors are made. */
async function recovers(world: SearchWorld, name: string): Promise<void> {
  world.embedding.recover()
  await until('searches are whole again', async () => {
    const found = await world.search({ mode: 'vector', query: freshQuery() })
    return !found.degraded
  })
  await world.indexed()
  await whole(world)
  const near = await world.search({ mode: 'vector', query_vector: fakeVector(text.body) })
  assert.ok(world.namesOf(near.results).includes(name))
}

/** A dataset of its own on the same server, and a reader that can only read this dataset. */
async function apart({ server, embedding, collector }: SearchWorld, dataset: string): Promise<SearchWorld> {
  await server.makeDataset(dataset)
  const { key } = await server.makeApplication({ entitlements: [{ datasets: [dataset] }] })
  return new SearchWorld(server, embedding, key, collector)
}

suite('an endpoint that had worked', () => {
  let shared: SearchWorld
  before(async () => {
    shared = await startWorld()
  })

  const troubles: readonly Behaviour[] = ['hangs', 'errors', 'wrong dimensions', 'not a number', 'garbage', 'half']
  for (const behaviour of troubles) {
    test(`${behaviour}: words go on, nothing is hidden, and what was missed is made up`, async () => {
      const dataset_id = behaviour.replaceAll(' ', '-')
      const world = await apart(shared, dataset_id)
      await world.putIndexed(documentOf('before', { ...text, dataset_id }))
      await whole(world)
      world.embedding.behaviour = behaviour
      // A text of its own: the previous text already has a vector, which would be reused.
      await world.put(documentOf('during', { ...text, body: `${text.body} It is lit: ${behaviour}.`, dataset_id }))
      await until('its words are found', async () => (await world.names({ query: 'buoyword' })).length === 2)
      await reduced(world, ['before', 'during'])
      // A vector in the request needs no endpoint.
      const own = await world.search({ mode: 'vector', query_vector: fakeVector(text.body) })
      assert.deepEqual([own.degraded, world.namesOf(own.results)], [false, ['before']])
      assert.equal((await world.search({ query: 'buoyword', query_vector: fakeVector(text.body) })).degraded, false)
      const state = await world.indexing()
      assert.deepEqual([state.pending_documents, state.pending_vectors], [0, 1])
      assert.equal((await world.server.call('GET', '/readyz')).status, 200)
      await recovers(world, 'during')
    })
  }

  test('is slow: an answer within 5 seconds is waited for, a later one is not, and neither is asked for again', async () => {
    const world = await apart(shared, 'slow')
    await world.putIndexed(documentOf('before', { ...text, dataset_id: 'slow' }))
    const search = async (mode: string, delayMs: number) => {
      world.embedding.delayMs = delayMs
      const query = freshQuery()
      const found = await timed(world.search({ mode, query }))
      assert.equal(world.embedding.texts.filter((asked) => asked.includes(query)).length, 1)
      assert.deepEqual(world.namesOf(found.results), ['before'])
      return codes(found)
    }
    for (const mode of ['vector', 'hybrid']) {
      assert.deepEqual(await search(mode, 1500), [])
      assert.deepEqual(await search(mode, 5200), ['vector_search_unavailable'])
      // On a busy machine the remaining 0.2 s may not be enough.
      const inTime = async () => (await search(mode, 4800)).length === 0
      assert.ok((await inTime()) || (await inTime()) || (await inTime()), mode)
    }
    world.embedding.delayMs = 0
    assert.equal(await world.server.stop(), 0)
  })
})

suite('an endpoint that never worked yet', { concurrency: 2 }, () => {
  for (const behaviour of ['hangs', 'down'] as const) {
    test(`${behaviour} at the start: the instance serves at once, and learns the dimensions when it is there`, async () => {
      const embedding = await new FakeEmbedding().start()
      if (behaviour === 'down') await embedding.stop()
      else embedding.behaviour = behaviour
      const world = await startWorld({ embedding })
      const { status, dimensions } = await profile(world)
      assert.deepEqual([status, dimensions], ['active', null])
      await world.put(documentOf('early', text))
      await until('its words are found', async () => (await world.names({ query: 'buoyword' })).length === 1)
      await reduced(world, ['early'])
      // Without any vectors to compare with, the search says so, and it is no mistake of the caller.
      const own = await timed(world.search({ mode: 'vector', query_vector: fakeVector('x') }))
      assert.deepEqual([own.results, own.degraded, codes(own)], [[], true, ['vector_search_unavailable']])
      assert.equal((await profile(world)).dimensions, null)
      assert.equal((await world.indexing()).profiles[0].dimensions, null)
      // Restarted while the endpoint still fails.
      const startedMs = performance.now()
      await world.server.restart()
      assert.ok(performance.now() - startedMs < 20_000)
      await reduced(world, ['early'])
      if (behaviour === 'down') await embedding.start()
      await recovers(world, 'early')
      await until('the dimensions are registered', async () => (await profile(world)).dimensions === fakeDimensions)
      const wrong = await world.raw({ mode: 'vector', query_vector: [1, 2, 3] })
      assert.equal(wrong.status, 400)
    })
  }

  test('wrong from the first: nothing is registered that is not a vector', async () => {
    const embedding = await new FakeEmbedding().start()
    embedding.behaviour = 'not a number'
    const world = await startWorld({ embedding })
    await world.put(documentOf('early', text))
    await until('its words are found', async () => (await world.names({ query: 'buoyword' })).length === 1)
    for (const behaviour of ['not a number', 'garbage'] as const) {
      embedding.behaviour = behaviour
      const asked = embedding.texts.length
      await reduced(world, ['early'])
      await until('it is asked for that vector again', () => embedding.texts.length > asked)
      assert.equal((await profile(world)).dimensions, null)
    }
    await world.server.kill9()
  })
})
