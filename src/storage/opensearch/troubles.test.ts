import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, suite, test } from 'node:test'
import { everything, put, queryOf } from '../../../test/contracts/index-under-test.ts'
import { isUnavailability } from '../../errors.ts'
import { noFilters } from '../../search/search-index.ts'
import { Cluster } from './cluster.ts'
import { OpenSearchHome } from './opensearch-home.ts'
import { OpenSearchIndex } from './opensearch-index.ts'

/** What a cluster says that is not well; null for nothing at all. */
type Said = { readonly status: number; readonly body: object } | null

const servers: ReturnType<typeof createServer>[] = []
after(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function clusterThat(says: (request: IncomingMessage) => Said): Promise<string> {
  const server = createServer((request, response) => {
    const said = says(request)
    if (said === null) return
    response.writeHead(said.status, { 'content-type': 'application/json' }).end(JSON.stringify(said.body))
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const indexAt = (...hosts: string[]) =>
  new OpenSearchIndex({ cluster: new Cluster({ nodes: hosts.map((host) => `http://${host}`) }), alias: 'tidemark-1' })
const request = (timeoutMs: number) => ({
  ...{ query: queryOf('word'), scope: everything, filters: noFilters, limit: 10, after: null, otherChunksMax: 0 },
  timeoutMs,
})
const near = { profileId: 'p', vector: [1, 0], scope: everything, filters: noFilters, topK: 5 }
const batch = { position: 1, changes: [put('d1', ['word'])] }

suite('troubles of the cluster are outcomes', () => {
  test('nobody there: unavailable, and no password is told', async () => {
    const host = await clusterThat(() => null)
    servers.at(-1)!.close()
    const index = indexAt(`operator:hush@${host}`)
    const outcomes = [
      await index.keyword(request(20_000)),
      await index.vector({ ...near, timeoutMs: 20_000 }),
      await index.values({ scope: everything, field: 'topics', prefix: '', after: null, limit: 1, timeoutMs: 20_000 }),
      await index.apply(batch),
    ]
    for (const outcome of outcomes) {
      assert.ok(outcome.outcome === 'unavailable', JSON.stringify(outcome))
      assert.ok(outcome.reason.includes(host) && !outcome.reason.includes('hush'), outcome.reason)
    }
    await assert.rejects(index.health(), (error: Error) => isUnavailability(error) && !error.message.includes('hush'))
    const nodes = [`http://operator:hush@${host}`]
    const home = new OpenSearchHome({ nodes, prefix: 'tidemark', origin: { rules: 'one', instance: null } })
    await assert.rejects(home.open(), (error: Error) => isUnavailability(error) && error.message.includes(host))
  })

  test('no answer: the time that was given is the time that is taken, by all nodes together', async () => {
    const silent = await Promise.all([1, 2, 3].map(() => clusterThat(() => null)))
    const index = indexAt(...silent)
    assert.deepEqual(await index.keyword(request(100)), { outcome: 'timed_out' })
    assert.deepEqual(await index.count({ scope: everything, filters: noFilters, timeoutMs: 100 }), {
      outcome: 'timed_out',
    })
  })

  test('an answer that is not whole is none', async () => {
    const counted = { hits: { total: { value: 7 } }, aggregations: { chunks: { visible: { doc_count: 7 } } } }
    const answers = {
      timed_out: { timed_out: true, _shards: { failed: 0 } },
      unavailable: { timed_out: false, _shards: { failed: 1 } },
    }
    for (const [outcome, about] of Object.entries(answers)) {
      const host = await clusterThat(({ url }) => {
        assert.match(url!, /allow_partial_search_results=false/)
        return { status: 200, body: { ...counted, ...about } }
      })
      const found = await indexAt(host).count({ scope: everything, filters: noFilters, timeoutMs: 20_000 })
      assert.equal(found.outcome, outcome)
    }
  })

  test('what the cluster refuses is told by its name, without what was asked', async () => {
    const said = { error: { type: 'cluster_block_exception', reason: 'body of document d1: secret' } }
    const index = indexAt(await clusterThat(() => ({ status: 403, body: said })))
    const found = await index.keyword(request(20_000))
    assert.ok(found.outcome === 'unavailable')
    assert.match(found.reason, /answered 403 cluster_block_exception$/)
  })

  test('another node answers where one is gone; a write is not sent twice', async () => {
    const gone = await clusterThat(() => null)
    servers.at(-1)!.close()
    const counted = { hits: { total: { value: 7 } }, aggregations: { chunks: { visible: { doc_count: 9 } } } }
    let writes = 0
    const here = await clusterThat(({ url }) => {
      if (url!.includes('/_mget')) return { status: 200, body: { docs: [{ _id: 'position' }, { _id: 'dd1' }] } }
      if (url!.includes('/_bulk')) writes++
      if (url!.includes('/_bulk')) return { status: 502, body: {} }
      return { status: 200, body: { ...counted, timed_out: false, _shards: { failed: 0 } } }
    })
    const index = indexAt(gone, here)
    for (let i = 0; i < 4; i++) {
      assert.deepEqual(await index.count({ scope: everything, filters: noFilters, timeoutMs: 20_000 }), {
        ...{ outcome: 'found', documents: 7, chunks: 9 },
      })
    }
    assert.equal((await indexAt(here).apply(batch)).outcome, 'unavailable')
    assert.equal(writes, 1)
  })

  test('user and password of the address, or an API key, are sent', async () => {
    const seen: (string | undefined)[] = []
    const host = await clusterThat(({ headers }) => {
      seen.push(headers.authorization)
      return { status: 404, body: {} }
    })
    const ask = (cluster: Cluster) =>
      cluster.call({ method: 'GET', path: '/', harmless: true, timeoutMs: 20_000 }).catch(() => {})
    await ask(new Cluster({ nodes: [`http://operator:hu%20sh@${host}`] }))
    await ask(new Cluster({ nodes: [`http://${host}`], apiKey: 'a2V5' }))
    await ask(new Cluster({ nodes: [`http://${host}`] }))
    assert.deepEqual(seen, [`Basic ${btoa('operator:hu sh')}`, 'ApiKey a2V5', undefined])
  })
})
