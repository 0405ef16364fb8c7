import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, suite, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { everything, listing, put, queryOf } from '../../../test/contracts/index-under-test.ts'
import { TlsRelay, testAuthority } from '../../../test/support/tls-relay.ts'
import { until } from '../../../test/support/until.ts'
import { isUnavailability } from '../../platform/errors.ts'
import { noFilters } from '../../search/search-index.ts'
import { Cluster, ClusterTimeout, isAway } from './cluster.ts'
import { OpenSearchHome } from './opensearch-home.ts'
import { OpenSearchIndex } from './opensearch-index.ts'
import { Profiles } from './profiles.ts'

/** A faulty answer of a cluster, text as it is; null for no answer at all. */
type Said = { readonly status: number; readonly body: object | string } | null

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
    const text = typeof said.body === 'string' ? said.body : JSON.stringify(said.body)
    response.writeHead(said.status, { 'content-type': 'application/json' }).end(text)
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

const indexAt = (...hosts: string[]) =>
  new OpenSearchIndex({ cluster: new Cluster({ nodes: hosts.map((host) => `http://${host}`) }), alias: 'tidemark-1' })
const homeAt = (...nodes: string[]) =>
  new OpenSearchHome({ nodes, prefix: 'tidemark', origin: { rules: 'one', instance: null } })
const request = (timeoutMs: number) => ({
  ...{ query: queryOf('word'), scope: everything, filters: noFilters, limit: 10, after: null, otherChunksMax: 0 },
  timeoutMs,
})
const near = { profileId: 'p', vector: [1, 0], scope: everything, filters: noFilters, topK: 5 }
const vectorCounts = {
  ...{ timed_out: false, _shards: { failed: 0 } },
  aggregations: {
    chunks: { visible: { having: { doc_count: 1 }, words: { doc_count: 1, having: { doc_count: 1 } } } },
  },
}
const listed = {
  aggregations: { same: { doc_count: 0 }, values: { buckets: [{ key: { value: 'news' }, doc_count: 7 }] } },
}
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
  })

  test('a home opens while its cluster is away: nothing is found, why is said, and it is asked for again', async () => {
    let isThere = false
    const host = await clusterThat(() => (isThere ? { status: 200, body: {} } : { status: 503, body: {} }))
    const home = homeAt(`http://operator:hush@${host}`)
    const index = await home.open()
    const outcomes = [
      await index.keyword(request(20_000)),
      await index.vector({ ...near, timeoutMs: 20_000 }),
      await index.values({ ...listing, timeoutMs: 20_000 }),
      await index.apply(batch),
    ]
    for (const outcome of outcomes) {
      assert.ok(outcome.outcome === 'unavailable' && outcome.reason.includes(`${host} answered 503`))
    }
    const unavailable = (error: Error) => isUnavailability(error) && error.message.includes(host)
    for (const asked of [index.health(), index.position(), index.clear(), home.openNewer()]) {
      await assert.rejects(asked, unavailable)
    }
    isThere = true
    assert.ok((await home.openNewer()) !== null)
  })

  test('a cluster that refuses us keeps a home from opening, and says what to look at', async () => {
    const said = { error: { type: 'security_exception', reason: 'operator:hush is nobody' } }
    for (const [status, told] of [
      [401, /answered 401 security_exception: see the user and password of TIDEMARK_SEARCH_URL/],
      [403, /answered 403 security_exception: see what its user or key may do/],
    ] as const) {
      const host = await clusterThat(() => ({ status, body: said }))
      await assert.rejects(homeAt(`http://operator:hush@${host}`).open(), (error: Error) => {
        assert.match(error.message, told)
        return !error.message.includes('hush')
      })
    }
  })

  test('no answer: the time that was given is the time that is taken, by all nodes together', async () => {
    const silent = await Promise.all([1, 2, 3].map(() => clusterThat(() => null)))
    const index = indexAt(...silent)
    assert.deepEqual(await index.keyword(request(100)), { outcome: 'timed_out' })
    assert.deepEqual(await index.values({ ...listing, timeoutMs: 100 }), { outcome: 'timed_out' })
  })

  test('what the index says of itself is waited for no longer than the search may take', async () => {
    const host = await clusterThat(({ url }) =>
      url!.includes('/_mapping') ? null : { status: 200, body: vectorCounts },
    )
    const index = indexAt(host)
    const outcomes = [
      await index.vector({ ...near, timeoutMs: 100 }),
      await index.score({ ...request(100), documentIds: ['d1'], query: null, vectors: [near] }),
    ]
    assert.deepEqual(outcomes, [{ outcome: 'timed_out' }, { outcome: 'timed_out' }])
  })

  test('a cluster without a manager is not asked for what only one could tell', async () => {
    const asked: string[] = []
    const host = await clusterThat(({ url }) => {
      asked.push(url!)
      return { status: 200, body: { status: 'red', discovered_cluster_manager: false } }
    })
    await assert.rejects(indexAt(host).health(), (error: Error) => {
      assert.match(error.message, /^the search cluster has no manager, .*: start the nodes that are gone/)
      return isUnavailability(error)
    })
    assert.deepEqual(asked, ['/_cluster/health/tidemark-1?local=true'])
  })

  test('where no node tells the dimensions of a profile in time, those that were read last hold', async () => {
    let asked = 0
    const mappings = { 'tidemark-1': { mappings: { _meta: { profiles: { p: 2 } } } } }
    const host = await clusterThat(() =>
      asked++ === 0
        ? { status: 200, body: mappings }
        : { status: 500, body: { error: { type: 'timeout_exception' }, status: 500 } },
    )
    const profiles = new Profiles(new Cluster({ nodes: [`http://${host}`] }), 'tidemark-1')
    await until('the mapping is read again', async () => {
      assert.equal((await profiles.known('p', 20_000)).of('p'), 2)
      return asked > 1
    })
    await assert.rejects(profiles.known('another', 20_000), /answered 500 timeout_exception/)
  })

  test('a node that says nothing more is left out of later calls', async () => {
    const whole = { status: 200, body: { ...listed, timed_out: false, _shards: { failed: 0 } } }
    let writes = 0
    const silent = await clusterThat(({ url }) => {
      if (url!.includes('/_bulk')) writes++
      return null
    })
    const well = await clusterThat(() => whole)
    const nodes = [silent, well].map((host) => `http://${host}`)
    const makeIndex = () =>
      new OpenSearchIndex({ cluster: new Cluster({ nodes, silentAfterMs: 300 }), alias: 'tidemark-1' })
    const several = async (index: OpenSearchIndex, timeoutMs: number) => {
      const list = () => index.values({ ...listing, timeoutMs })
      return (await Promise.all([list(), list(), list(), list()])).map(({ outcome }) => outcome)
    }
    // Enough time to notice, and to try the other node.
    assert.deepEqual(new Set(await several(makeIndex(), 60_000)), new Set(['found']))
    const index = makeIndex()
    assert.ok((await several(index, 300)).includes('timed_out'))
    await until('all are answered', async () => (await several(index, 300)).every((outcome) => outcome === 'found'))
    const alone = new Cluster({ nodes: [nodes[0]!], silentAfterMs: 300 })
    const write = {
      method: 'POST',
      path: '/tidemark-1/_bulk',
      lines: ['{}'],
      harmless: false,
      timeoutMs: 60_000,
    } as const
    await assert.rejects(alone.call(write), ClusterTimeout)
    assert.equal(writes, 1)
  })

  test('a node that is slow, and there, is asked again', async () => {
    let isSlow = true
    const whole = { status: 200, body: { ...listed, timed_out: false, _shards: { failed: 0 } } }
    const asked = [0, 0]
    const hosts = await Promise.all(
      asked.map((_, i) =>
        clusterThat(({ method }) => {
          if (method !== 'HEAD') asked[i]!++
          return isSlow && method !== 'HEAD' ? null : whole
        }),
      ),
    )
    const index = indexAt(...hosts)
    const list = (timeoutMs: number) => index.values({ ...listing, timeoutMs })
    for (const outcome of await Promise.all([list(100), list(100)])) assert.equal(outcome.outcome, 'timed_out')
    isSlow = false
    const before = [...asked]
    // At once, unless a busy machine could not even connect in time: then the node is left out for a while.
    await until('both are asked again', async () => {
      assert.equal((await list(20_000)).outcome, 'found')
      return asked.every((times, i) => times > before[i]!)
    })
  })

  test('an answer that is not whole is none', async () => {
    for (const [outcome, about] of [
      ['timed_out', { timed_out: true, _shards: { failed: 0 } }],
      ['unavailable', { timed_out: false, _shards: { failed: 1 } }],
      // As a proxy in between may answer.
      ['unavailable', {}],
    ] as const) {
      const host = await clusterThat(({ url }) => {
        assert.match(url!, /allow_partial_search_results=false/)
        return { status: 200, body: { ...listed, ...about } }
      })
      const found = await indexAt(host).values({ ...listing, timeoutMs: 20_000 })
      assert.equal(found.outcome, outcome)
    }
  })

  test('what is no JSON is no answer, and nothing of it is told', async () => {
    for (const status of [200, 400, 502]) {
      const index = indexAt(await clusterThat(() => ({ status, body: '<p>secret</p>' })))
      const found = await index.keyword(request(20_000))
      assert.ok(found.outcome === 'unavailable')
      assert.match(found.reason, new RegExp(`answered ${status} (with what is no JSON|no_reason)$`))
    }
  })

  test('what the cluster refuses is told by its name, without what was asked', async () => {
    const said = { error: { type: 'cluster_block_exception', reason: 'body of document d1: secret' } }
    const index = indexAt(await clusterThat(() => ({ status: 403, body: said })))
    const found = await index.keyword(request(20_000))
    assert.ok(found.outcome === 'unavailable')
    assert.match(found.reason, /answered 403 cluster_block_exception: see what/)
    assert.ok(!found.reason.includes('secret'))
  })

  test('another node answers where one is gone; a write is not sent twice', async () => {
    const gone = await clusterThat(() => null)
    servers.at(-1)!.close()
    let writes = 0
    const here = await clusterThat(({ url }) => {
      if (url!.includes('/_mget')) return { status: 200, body: { docs: [{ _id: 'position' }, { _id: 'dd1' }] } }
      if (url!.includes('/_bulk')) writes++
      if (url!.includes('/_bulk')) return { status: 502, body: {} }
      return { status: 200, body: { ...listed, timed_out: false, _shards: { failed: 0 } } }
    })
    const index = indexAt(gone, here)
    for (let i = 0; i < 4; i++) {
      const values = [{ value: 'news', count: 7 }]
      assert.deepEqual(await index.values({ ...listing, timeoutMs: 20_000 }), { outcome: 'found', values, next: null })
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

  test('by TLS: who is not known to the authorities, or is another, is not spoken to', async () => {
    const host = await clusterThat(() => ({ status: 200, body: {} }))
    const relay = await TlsRelay.to(Number(host.split(':')[1]))
    const ask = (node: string, apiKey: string | null = null) =>
      new Cluster({ nodes: [node], apiKey }).call({ method: 'GET', path: '/', harmless: true, timeoutMs: 20_000 })
    const refused = (error: Error) => {
      assert.match(error.message, /is not trusted: .*(certificate|altnames).*NODE_EXTRA_CA_CERTS/)
      return !error.message.includes('hush') && isUnavailability(error) && !isAway(error)
    }
    const node = `https://operator:hush@127.0.0.1:${relay.port}`
    await assert.rejects(ask(node), refused)
    await assert.rejects(homeAt(node).open(), refused)
    const usual = getCACertificates('default')
    setDefaultCACertificates([...usual, testAuthority])
    try {
      await ask(node)
      await ask(`https://127.0.0.1:${relay.port}`, 'a2V5')
      await assert.rejects(ask(`https://operator:hush@localhost:${relay.port}`), refused)
      await assert.rejects(ask(`https://operator:hush@${host}`), /is not trusted: .*wrong version number/)
    } finally {
      setDefaultCACertificates(usual)
    }
    assert.deepEqual(relay.credentials, [`Basic ${btoa('operator:hush')}`, 'ApiKey a2V5'])
  })
})
