import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { documentOf } from '../acceptance/content.ts'
import { FakeEmbedding } from '../acceptance/fake-embedding.ts'
import { builtInModel, startServer, type TestServer } from '../acceptance/harness.ts'
import { type Found, SearchWorld, startWorld } from '../acceptance/search-world.ts'
import { until } from '../support/until.ts'

/**
 * The requests of one application do not delay another application's searches. The test counts instead of timing: how
 * many answers of the busy application come between a request of the other and its answer.
 */
/** Fewer than one application may have in flight. */
const flood = 30

/** Short words without meaning, which the model splits into letters. Few enough to finish in time on a busy machine. */
function slowText(seed: string): string {
  const characters = 160
  let text = seed
  let state = [...seed].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) >>> 0
  while (text.length < characters) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    text += ` ${(state >>> 8).toString(36).slice(0, 4)}`
  }
  return text.slice(0, characters)
}

/** A search that the client can abort before its answer. */
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
    const server = await startServer({ env: { ...builtInModel, TIDEMARK_LOG_LEVEL: 'warn' } })
    await server.makeDataset('news')
    const entitlements = [{ datasets: ['news'] }]
    const { key: crowd } = await server.makeApplication({ entitlements })
    const { key: single } = await server.makeApplication({ entitlements })
    const { key: collector } = await server.makeCollector()
    const world = new SearchWorld(server, new FakeEmbedding(), single, collector)
    await world.put(...Array.from({ length: 5 }, (_, i) => documentOf(`d${i}`, { body: slowText(`d${i}`) })))
    await world.indexed()

    const leave = new AbortController()
    t.after(() => leave.abort())
    let answered = 0
    const { promise: first, resolve, reject } = Promise.withResolvers<void>()
    const query = (i: number): string => slowText(`crowd ${i}`)
    const all = Array.from({ length: flood }, async (_, i) => {
      const { degraded } = await search(server, crowd, query(i), leave.signal)
      // A search that waited too long has left the queue, so it was not served before another one.
      if (!degraded) answered++
      resolve()
    })
    Promise.all(all).catch((error) => leave.signal.aborted || reject(error))
    // From here on they are queued.
    await first
    const questions = [slowText('own 1'), slowText('own 2'), query(flood - 1)]
    const answers = await Promise.all(questions.map((asked) => search(server, single, asked)))
    assert.deepEqual(
      answers.map(({ degraded }) => degraded),
      [false, false, false],
    )
    // Behind the others in a queue, all of these would have been answered first. The exact number depends on the load
    // of the machine: the queries that the model works on, and those with vectors whose answers are still to come.
    assert.ok(answered < flood, 'the others were over before the questions were')
  })
})

suite('an embedding endpoint', () => {
  /** The concurrent requests of one application to the endpoint. Its other queries wait in the server. */
  const atOnce = 8

  test('gets the first query of another application at once, and those that nobody waits for not at all', async () => {
    const world = await startWorld()
    const { embedding, server } = world
    await world.putIndexed(documentOf('d', { body: 'word' }))
    const crowd = await world.application([{ datasets: ['news'] }])
    const single = await world.application([{ datasets: ['news'] }])
    embedding.texts = []
    embedding.behaviour = 'hangs'
    const leave = new AbortController()
    const asked = Array.from({ length: atOnce }, (_, i) => search(server, crowd, `under way ${i}`))
    await until('the endpoint is busy', async () => embedding.texts.length === atOnce)
    const left = Array.from({ length: 5 }, (_, i) => search(server, crowd, `left ${i}`, leave.signal))
    const settled = Promise.allSettled(left)
    // Each answer shows that earlier requests have arrived.
    const roundTrips = async (): Promise<void> => {
      for (let i = 0; i < 10; i++) await server.call('GET', '/healthz')
    }
    await roundTrips()
    asked.push(search(server, single, 'single'))
    await until('the other is asked for', async () => embedding.texts.includes('single'))
    leave.abort()
    for (const { status } of await settled) assert.equal(status, 'rejected')
    await roundTrips()
    embedding.recover()
    await Promise.all(asked)
    assert.deepEqual(
      embedding.texts.filter((text) => text.startsWith('left')),
      [],
    )
  })

  test('a search whose client has gone ends, though the endpoint hangs: its place is free, and it was no error', async () => {
    const world = await startWorld({ env: { TIDEMARK_LOG_LEVEL: 'info' } })
    const { embedding, server } = world
    await world.putIndexed(documentOf('d', { body: 'word' }))
    const key = await world.application([{ datasets: ['news'] }], { max_in_flight: 1 })
    embedding.behaviour = 'hangs'
    for (const query of ['one', 'two', 'three']) {
      const leave = new AbortController()
      const left = search(server, key, query, leave.signal)
      await until('it is under way', async () => embedding.texts.includes(query))
      assert.notEqual((await world.raw({ query: 'word' }, '/v1/search', key)).status, 200)
      leave.abort()
      await assert.rejects(left)
      await until('its place is free', async () => {
        return (await world.raw({ query: 'word' }, '/v1/search', key)).status === 200
      })
    }
    const searches = () => server.logs.filter(({ operation }) => operation === 'search.hybrid')
    await until('the log has all three', () => searches().length === 3)
    assert.deepEqual(new Set(searches().map(({ status }) => status)), new Set([499]))
    assert.deepEqual(
      server.logs.filter(({ level }) => Number(level) >= 50),
      [],
    )
  })
})
