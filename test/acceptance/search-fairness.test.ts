import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { documentOf } from './content.ts'
import { FakeEmbedding } from './fake-embedding.ts'
import { startServer, type TestServer } from './harness.ts'
import { type Found, SearchWorld, startWorld } from './search-world.ts'
import { until } from './until.ts'

/**
 * What one application asks for does not stand before another's searches. Counted, not timed: how many answers of the
 * one that asks for much come between a question of the other and its answer.
 */
const modelWithinMs = 60_000
/** Fewer than one application may have under way at once. */
const flood = 30

/** Short words that mean nothing: the model takes them letter by letter, so that a query takes it as long as one can. */
function longText(seed: string, characters = 990): string {
  let text = seed
  let state = [...seed].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) >>> 0
  while (text.length < characters) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    text += ` ${(state >>> 8).toString(36).slice(0, 4)}`
  }
  return text.slice(0, characters)
}

/** A search that the client can leave before it is answered. */
async function search(server: TestServer, key: string, query: string, signal?: AbortSignal): Promise<Found> {
  const response = await fetch(new URL('/v1/search/hybrid', server.address), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    ...(signal === undefined ? {} : { signal }),
  })
  assert.equal(response.status, 200)
  return (await response.json()) as Found
}

suite('two applications, the model that comes with the product', () => {
  test('one that asks for much at once waits for itself; the other is answered in its turn, also what both ask', async (t) => {
    const server = await startServer({ env: { TIDEMARK_LOG_LEVEL: 'warn' } })
    await server.makeDataset('news')
    const entitlements = [{ datasets: ['news'] }]
    const { key: crowd } = await server.makeApplication({ entitlements })
    const { key: single } = await server.makeApplication({ entitlements })
    const { key: collector } = await server.makeCollector()
    const world = new SearchWorld(server, new FakeEmbedding(), single, collector)
    await world.put(...Array.from({ length: 5 }, (_, i) => documentOf(`d${i}`, { body: longText(`d${i}`, 300) })))
    await world.indexed(modelWithinMs)

    const leave = new AbortController()
    t.after(() => leave.abort())
    let answered = 0
    const { promise: first, resolve, reject } = Promise.withResolvers<void>()
    const query = (i: number): string => longText(`crowd ${i}`)
    const all = Array.from({ length: flood }, async (_, i) => {
      await search(server, crowd, query(i), leave.signal)
      answered++
      resolve()
    })
    Promise.all(all).catch((error) => leave.signal.aborted || reject(error))
    // From here on they stand in line.
    await first
    /** The one that the model is at, and those whose vectors are there and whose answers are on their way. */
    const othersMax = 6
    for (const asked of [longText('own 1'), longText('own 2'), query(flood - 1)]) {
      const before = answered
      assert.equal((await search(server, single, asked)).degraded, false)
      const passed = answered - before
      assert.ok(passed <= othersMax, `${passed} others were answered first`)
    }
    assert.ok(answered <= 1 + 3 * othersMax, 'the others were over before the questions were')
  })
})

suite('an embedding endpoint', () => {
  /** What it is asked for at once; the others wait here. */
  const atOnce = 8

  test('is asked for so many at once, for those that wait when it is free, and for those that nobody waits for not at all', async () => {
    const world = await startWorld()
    const { embedding, server } = world
    await world.putIndexed(documentOf('d', { body: 'word' }))
    const crowd = await world.application([{ datasets: ['news'] }])
    const single = await world.application([{ datasets: ['news'] }])
    embedding.texts = []
    embedding.behaviour = 'hangs'
    const leave = new AbortController()
    const underWay = Array.from({ length: atOnce }, (_, i) => search(server, crowd, `under way ${i}`, leave.signal))
    await until('the endpoint is busy', 5000, async () => embedding.texts.length === atOnce)
    const asked = Array.from({ length: 5 }, (_, i) => search(server, crowd, `waiting ${i}`))
    const left = Array.from({ length: 5 }, (_, i) => search(server, crowd, `left ${i}`, leave.signal))
    const settled = Promise.allSettled([...underWay, ...left])
    // Asked on connections of their own after the others, these are answered when the others have arrived.
    for (let i = 0; i < 5; i++) await server.call('GET', '/healthz')
    leave.abort()
    asked.push(search(server, single, 'single'))
    for (const { status } of await settled) assert.equal(status, 'rejected')
    embedding.recover()
    for (const found of await Promise.all(asked)) assert.equal(found.degraded, false)
    const waited = embedding.texts.filter((text) => !text.startsWith('under way'))
    assert.deepEqual(waited.toSorted(), [...Array.from({ length: 5 }, (_, i) => `waiting ${i}`), 'single'].toSorted())
  })
})
