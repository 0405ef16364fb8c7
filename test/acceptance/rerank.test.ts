import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { documentOf, send } from './content.ts'
import { startServer, type TestServer } from './harness.ts'
import { until } from './until.ts'

/** A rerank endpoint beside the server, which can be asked to answer in other ways. */
interface Asked {
  readonly query: string
  readonly documents: readonly string[]
}

const asked: Asked[] = []
let answer: (asked: Asked, response: ServerResponse) => void = lastIsBest
const endpoint = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (text) => {
    body += text
  })
  request.on('end', () => {
    const given = JSON.parse(body) as Asked
    asked.push(given)
    answer(given, response)
  })
})

function lastIsBest({ documents }: Asked, response: ServerResponse): void {
  const results = documents.map((_, index) => ({ index, relevance_score: (index + 1) / 10 }))
  response.end(JSON.stringify({ results }))
}

let server: TestServer
let key: string

before(async () => {
  endpoint.listen(0, '127.0.0.1')
  await once(endpoint, 'listening')
  const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`
  server = await startServer({ env: { TIDEMARK_RERANK_URL: url } })
  await server.makeDataset('news')
  const collector = await server.makeCollector({ datasets: ['news'] })
  ;({ key } = await server.makeApplication({ entitlements: [{ datasets: ['news'], fields: ['body'] }] }))
  await send(server, collector.key, [
    documentOf('1', { title: 'secret', body: 'Tidal power is made from the tides of the sea.' }),
    documentOf('2', { title: 'secret', body: 'The tidal range in the bay has power to surprise.' }),
    documentOf('3', { title: 'secret', body: 'A tidal gate was closed in the storm.' }),
  ])
  await until('everything is indexed', 60_000, async () => {
    const state = await server.mustAdmin('GET', '/admin/v1/indexing')
    return state.pending_chunks === 0 && state.indexed_documents === 3
  })
})

after(async () => {
  endpoint.close()
  endpoint.closeAllConnections()
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

test('while it fails or hangs, the own order is given, soon, and without a warning', async () => {
  const ways: (typeof answer)[] = [
    (_, response) => void response.writeHead(500).end(),
    (_, response) => void response.end('{"results": [{"index": 0, "relevance_score": null}]}'),
    () => {},
  ]
  for (const way of ways) {
    answer = way
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
