import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { documentOf, documentsOf, send } from '../acceptance/content.ts'
import { byText, FakeReranker, lastIsBest } from '../acceptance/fake-reranker.ts'
import { startServer, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'

const endpoint = new FakeReranker()
const { asked } = endpoint
let server: TestServer
let key: string

before(async () => {
  await endpoint.start()
  endpoint.answer = lastIsBest
  server = await startServer({ env: endpoint.env })
  await server.makeDataset('news')
  const collector = await server.makeCollector({ datasets: ['news'] })
  ;({ key } = await server.makeApplication({ entitlements: [{ datasets: ['news'], fields: ['body'] }] }))
  await send(server, collector.key, [
    documentOf('1', { title: 'secret', body: 'Tidal power is made from the tides of the sea.' }),
    documentOf('2', { title: 'secret', body: 'The tidal range in the bay has power to surprise.' }),
    documentOf('3', { title: 'secret', body: 'A tidal gate was closed in the storm.' }),
  ])
  await until('everything is indexed', async () => {
    const state = await server.mustAdmin('GET', '/admin/v1/indexing')
    return state.pending_chunks === 0 && state.indexed_documents === 3
  })
})

after(async () => {
  await endpoint.stop()
  await server.stop()
})

interface Result {
  readonly body: string
  readonly score: number
  readonly rerank_score: number
}

async function search(mode: string): Promise<readonly Result[]> {
  const reply = await server.consumer(key, 'POST', `/v1/search/${mode}`, { query: 'tidal power' })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.degraded, false)
  return reply.body.results
}
const first = (results: readonly Result[]): string => results[0]!.body

test('the endpoint orders hybrid results, and sees what the application may read alone', async () => {
  const results = await search('hybrid')
  assert.equal(first(results), 'A tidal gate was closed in the storm.')
  assert.deepEqual(
    results.map(({ score, rerank_score }) => [score, rerank_score]),
    [0.3, 0.2, 0.1].map((score) => [score, score]),
  )
  assert.equal(asked.length, 1)
  assert.equal(asked[0]!.query, 'tidal power')
  assert.doesNotMatch(JSON.stringify(asked), /secret/)
})

test('keyword and vector search do not ask it', async () => {
  const before = asked.length
  await search('keyword')
  await search('vector')
  assert.equal(asked.length, before)
})

test('it is asked of the same texts whatever the limit, none of them empty, and long pages begin as short ones', async () => {
  endpoint.answer = byText
  await server.makeDataset('reeds')
  const { key: collector } = await server.makeCollector({ datasets: ['reeds'] })
  const titled = await server.makeApplication({ entitlements: [{ datasets: ['reeds'], fields: ['title'] }] })
  const whole = await server.makeApplication({ entitlements: [{ datasets: ['reeds'], fields: ['title', 'body'] }] })
  const fillers = ['mud', 'silt', 'gravel', 'clay', 'sand', 'moss', 'peat']
  const documents = Array.from({ length: 160 }, (_, i) => {
    const body = `${'heron '.repeat(1 + (i % 5))}${i % 2 === 0 ? 'reeds ' : ''}${fillers[i % 7]} and ${fillers[(i * 3) % 5]}`
    return documentsOf('reeds')(`reeds-${i}`, { title: i % 4 === 0 ? '' : `Heron ${fillers[i % 3]} ${i}`, body })
  })
  await send(server, collector, documents)
  await until('everything is indexed', async () => {
    const state = await server.mustAdmin('GET', '/admin/v1/indexing')
    return state.pending_chunks === 0 && state.indexed_documents === 3 + documents.length
  })
  for (const reader of [whole, titled]) {
    const page = async (limit: number) => {
      const before = asked.length
      const query = { query: 'heron reeds', limit, datasets: ['reeds'] }
      const reply = await server.consumer(reader.key, 'POST', '/v1/search/hybrid', query)
      assert.equal(reply.status, 200, reply.text)
      const results: { document_id: string; score: number }[] = reply.body.results
      const shown = results.map(({ document_id, score }) => `${document_id} ${score.toFixed(6)}`)
      return { shown, texts: asked.slice(before).flatMap(({ documents }) => documents) }
    }
    const longest = await page(100)
    assert.equal(longest.shown.length, 100)
    assert.ok(longest.texts.length > 10 && longest.texts.every((text) => text !== ''))
    for (const limit of [5, 20, 25, 26, 60]) {
      const { shown, texts } = await page(limit)
      assert.deepEqual(texts, longest.texts, `limit ${limit}`)
      assert.deepEqual(shown, longest.shown.slice(0, limit), `limit ${limit}`)
    }
  }
})

test('while it fails or hangs, the own order is given, soon, and without a warning', async () => {
  const ways: (typeof endpoint.answer)[] = [
    (_, response) => void response.writeHead(500).end(),
    (_, response) => void response.end('{"results": [{"index": 0, "relevance_score": null}]}'),
    () => {},
  ]
  for (const way of ways) {
    endpoint.answer = way
    const startedMs = performance.now()
    assert.equal(first(await search('hybrid')), 'Tidal power is made from the tides of the sea.')
    assert.ok(performance.now() - startedMs < 10_000)
  }
  assert.doesNotMatch(server.stderr, /tides of the sea/)
  assert.match(server.stderr, /rerank endpoint/)
})

test('after failures in a row it is left alone', async () => {
  const before = asked.length
  await search('hybrid')
  assert.equal(asked.length, before)
})
