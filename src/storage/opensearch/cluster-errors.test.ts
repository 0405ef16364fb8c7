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
import { Cluster, ClusterTimeout, isTransient } from './cluster.ts'
import { OpenSearchHome } from './opensearch-home.ts'
import { OpenSearchIndex } from './opensearch-index.ts'
import { Profiles } from './profiles.ts'

/** A response of a fake cluster. A string body is sent unchanged. Null for no response. */
type FakeResponse = { readonly status: number; readonly body: object | string } | null

const servers: ReturnType<typeof createServer>[] = []
after(() => {
  for (const server of servers) {
    server.closeAllConnections()
    server.close()
  }
})

async function fakeCluster(respond: (request: IncomingMessage) => FakeResponse): Promise<string> {
  const server = createServer((request, response) => {
    const fake = respond(request)
    if (fake === null) return
    const text = typeof fake.body === 'string' ? fake.body : JSON.stringify(fake.body)
    response.writeHead(fake.status, { 'content-type': 'application/json' }).end(text)
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

suite('errors of the cluster', () => {
  test('an unreachable cluster is unavailable, and the reason contains no password', async () => {
    const host = await fakeCluster(() => null)
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

  test('a home opens while its cluster is unreachable; calls fail with the reason until the cluster is back', async () => {
    let isReachable = false
    const host = await fakeCluster(() => (isReachable ? { status: 200, body: {} } : { status: 503, body: {} }))
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
    for (const call of [index.health(), index.position(), index.clear(), home.openNewer()]) {
      await assert.rejects(call, unavailable)
    }
    isReachable = true
    assert.ok((await home.openNewer()) !== null)
  })

  test('a home does not open if the cluster refuses the login, and the error says what to check', async () => {
    const body = { error: { type: 'security_exception', reason: 'operator:hush is nobody' } }
    for (const [status, message] of [
      [401, /answered 401 security_exception: check the user and password in TIDEMARK_SEARCH_URL/],
      [403, /answered 403 security_exception: check the permissions of the user or key/],
    ] as const) {
      const host = await fakeCluster(() => ({ status, body: body }))
      await assert.rejects(homeAt(`http://operator:hush@${host}`).open(), (error: Error) => {
        assert.match(error.message, message)
        return !error.message.includes('hush')
      })
    }
  })

  test('the time limit of a call holds for all nodes together', async () => {
    const silent = await Promise.all([1, 2, 3].map(() => fakeCluster(() => null)))
    const index = indexAt(...silent)
    assert.deepEqual(await index.keyword(request(100)), { outcome: 'timed_out' })
    assert.deepEqual(await index.values({ ...listing, timeoutMs: 100 }), { outcome: 'timed_out' })
  })

  test('a search does not wait for the mapping beyond its time limit', async () => {
    const host = await fakeCluster(({ url }) =>
      url!.includes('/_mapping') ? null : { status: 200, body: vectorCounts },
    )
    const index = indexAt(host)
    const outcomes = [
      await index.vector({ ...near, timeoutMs: 100 }),
      await index.score({ ...request(100), documentIds: ['d1'], query: null, vectors: [near] }),
    ]
    assert.deepEqual(outcomes, [{ outcome: 'timed_out' }, { outcome: 'timed_out' }])
  })

  test('health makes no further request to a cluster without a manager', async () => {
    const requested: string[] = []
    const host = await fakeCluster(({ url }) => {
      requested.push(url!)
      return { status: 200, body: { status: 'red', discovered_cluster_manager: false } }
    })
    await assert.rejects(indexAt(host).health(), (error: Error) => {
      assert.match(error.message, /^the search cluster has no manager, .*: start the missing nodes/)
      return isUnavailability(error)
    })
    assert.deepEqual(requested, ['/_cluster/health/tidemark-1?local=true'])
  })

  test('cached dimensions are used if no node returns them in time', async () => {
    let requested = 0
    const mappings = { 'tidemark-1': { mappings: { _meta: { profiles: { p: 2 } } } } }
    const host = await fakeCluster(() =>
      requested++ === 0
        ? { status: 200, body: mappings }
        : { status: 500, body: { error: { type: 'timeout_exception' }, status: 500 } },
    )
    const profiles = new Profiles(new Cluster({ nodes: [`http://${host}`] }), 'tidemark-1')
    await until('the mapping is read again', async () => {
      assert.equal((await profiles.known('p', 20_000)).of('p'), 2)
      return requested > 1
    })
    await assert.rejects(profiles.known('another', 20_000), /answered 500 timeout_exception/)
  })

  test('a node that stops answering is not used for later calls', async () => {
    const whole = { status: 200, body: { ...listed, timed_out: false, _shards: { failed: 0 } } }
    let writes = 0
    const silent = await fakeCluster(({ url }) => {
      if (url!.includes('/_bulk')) writes++
      return null
    })
    const healthy = await fakeCluster(() => whole)
    const nodes = [silent, healthy].map((host) => `http://${host}`)
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
      idempotent: false,
      timeoutMs: 60_000,
    } as const
    await assert.rejects(alone.call(write), ClusterTimeout)
    assert.equal(writes, 1)
  })

  test('a node that is slow, but answers pings, is used again', async () => {
    let isSlow = true
    const whole = { status: 200, body: { ...listed, timed_out: false, _shards: { failed: 0 } } }
    const requested = [0, 0]
    const hosts = await Promise.all(
      requested.map((_, i) =>
        fakeCluster(({ method }) => {
          if (method !== 'HEAD') requested[i]!++
          return isSlow && method !== 'HEAD' ? null : whole
        }),
      ),
    )
    const index = indexAt(...hosts)
    const list = (timeoutMs: number) => index.values({ ...listing, timeoutMs })
    for (const outcome of await Promise.all([list(100), list(100)])) assert.equal(outcome.outcome, 'timed_out')
    isSlow = false
    const before = [...requested]
    // At once, unless a busy machine could not even connect in time: then the node is left out for a while.
    await until('both are requested again', async () => {
      assert.equal((await list(20_000)).outcome, 'found')
      return requested.every((times, i) => times > before[i]!)
    })
  })

  test('an incomplete response is an error', async () => {
    for (const [outcome, about] of [
      ['timed_out', { timed_out: true, _shards: { failed: 0 } }],
      ['unavailable', { timed_out: false, _shards: { failed: 1 } }],
      // As a proxy in between may answer.
      ['unavailable', {}],
    ] as const) {
      const host = await fakeCluster(({ url }) => {
        assert.match(url!, /allow_partial_search_results=false/)
        return { status: 200, body: { ...listed, ...about } }
      })
      const found = await indexAt(host).values({ ...listing, timeoutMs: 20_000 })
      assert.equal(found.outcome, outcome)
    }
  })

  test('a response that is not JSON is an error, and the reason does not quote it', async () => {
    for (const status of [200, 400, 502]) {
      const index = indexAt(await fakeCluster(() => ({ status, body: '<p>secret</p>' })))
      const found = await index.keyword(request(20_000))
      assert.ok(found.outcome === 'unavailable')
      assert.match(found.reason, new RegExp(`answered ${status} (with something other than JSON|no_reason)$`))
    }
  })

  test('the reason names the error type of the cluster, without its message', async () => {
    const body = { error: { type: 'cluster_block_exception', reason: 'body of document d1: secret' } }
    const index = indexAt(await fakeCluster(() => ({ status: 403, body: body })))
    const found = await index.keyword(request(20_000))
    assert.ok(found.outcome === 'unavailable')
    assert.match(found.reason, /answered 403 cluster_block_exception: check the permissions/)
    assert.ok(!found.reason.includes('secret'))
  })

  test('another node answers if one is unreachable, and a write is not sent twice', async () => {
    const unreachable = await fakeCluster(() => null)
    servers.at(-1)!.close()
    let writes = 0
    const reachable = await fakeCluster(({ url }) => {
      if (url!.includes('/_mget')) return { status: 200, body: { docs: [{ _id: 'position' }, { _id: 'dd1' }] } }
      if (url!.includes('/_bulk')) writes++
      if (url!.includes('/_bulk')) return { status: 502, body: {} }
      return { status: 200, body: { ...listed, timed_out: false, _shards: { failed: 0 } } }
    })
    const index = indexAt(unreachable, reachable)
    for (let i = 0; i < 4; i++) {
      const values = [{ value: 'news', count: 7 }]
      assert.deepEqual(await index.values({ ...listing, timeoutMs: 20_000 }), { outcome: 'found', values, next: null })
    }
    assert.equal((await indexAt(reachable).apply(batch)).outcome, 'unavailable')
    assert.equal(writes, 1)
  })

  test('user and password of the address, or an API key, are sent', async () => {
    const seen: (string | undefined)[] = []
    const host = await fakeCluster(({ headers }) => {
      seen.push(headers.authorization)
      return { status: 404, body: {} }
    })
    const ask = (cluster: Cluster) =>
      cluster.call({ method: 'GET', path: '/', idempotent: true, timeoutMs: 20_000 }).catch(() => {})
    await ask(new Cluster({ nodes: [`http://operator:hu%20sh@${host}`] }))
    await ask(new Cluster({ nodes: [`http://${host}`], apiKey: 'a2V5' }))
    await ask(new Cluster({ nodes: [`http://${host}`] }))
    assert.deepEqual(seen, [`Basic ${btoa('operator:hu sh')}`, 'ApiKey a2V5', undefined])
  })

  test('over TLS, a node whose certificate is unknown or is for another host gets no request', async () => {
    const host = await fakeCluster(() => ({ status: 200, body: {} }))
    const relay = await TlsRelay.to(Number(host.split(':')[1]))
    const ask = (node: string, apiKey: string | null = null) =>
      new Cluster({ nodes: [node], apiKey }).call({ method: 'GET', path: '/', idempotent: true, timeoutMs: 20_000 })
    const refused = (error: Error) => {
      assert.match(error.message, /is not trusted: .*(certificate|altnames).*NODE_EXTRA_CA_CERTS/)
      return !error.message.includes('hush') && isUnavailability(error) && !isTransient(error)
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
