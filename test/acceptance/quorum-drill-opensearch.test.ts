import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type ThrowawayOpenSearch, throwawayOpenSearch } from '../../scripts/throwaway-opensearch.ts'
import { findPostgres, type ThrowawayPostgres, throwawayPostgres } from '../../scripts/throwaway-postgres.ts'
import { assertFires, noPromtool } from '../support/alerts.ts'
import { openSearchNodes, withoutOpenSearch } from '../support/opensearch-nodes.ts'
import { readScrape, type Scrape } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { type Answer, startServer, type TestServer } from './harness.ts'

const missing =
  openSearchNodes === null ? withoutOpenSearch : findPostgres() === null ? 'there is no PostgreSQL' : false

/** Seconds that a busy machine may add to the promised times. */
const patienceSeconds = 6
/**
 * After this many seconds an acknowledged document is found, or an answer says that it may be missing: 30 s, and 10 s
 * if the index accepts no writes at all. Progress is checked at least every two seconds.
 */
const bounds = { gettingOn: 30 + 2 + patienceSeconds, standingStill: 10 + 2 + patienceSeconds }

const search = { query: 'tide', limit: 100 }
/** The requests that need the index, with their time limits. */
const kinds: readonly (readonly [name: string, seconds: number, path: string, body: object | null])[] = [
  ['keyword', 3, '/v1/search/keyword', search],
  ['explained', 3, '/v1/search/keyword', { ...search, explain: true, facets: ['dataset'] }],
  ['corrected', 3, '/v1/search/keyword', { ...search, typo: 'always' }],
  ['vector', 8, '/v1/search/vector', search],
  ['hybrid', 8, '/v1/search/hybrid', search],
  ['values', 3, '/v1/values/dataset', null],
]

/**
 * Two of three nodes are down, and with them the quorum of cluster managers. One process feeds the index; both search
 * it.
 */
suite('a search cluster without a quorum', { skip: missing }, () => {
  let cluster: ThrowawayOpenSearch
  let postgres: ThrowawayPostgres
  let servers: readonly TestServer[]
  let key: string
  let collector: string
  /** External ids with the times of their acknowledgements. */
  const acknowledged: { readonly id: string; readonly at: number }[] = []
  let boundSeconds: number = bounds.gettingOn
  before(async () => {
    const check = { timeout: '2s', retry_count: 1 }
    const settings = Object.entries(check).flatMap(([name, value]) =>
      ['leader_check', 'follower_check'].map((of) => [`cluster.fault_detection.${of}.${name}`, value]),
    )
    ;[cluster, postgres] = await Promise.all([
      throwawayOpenSearch({ nodes: 3, heapMb: 512, settings: Object.fromEntries(settings), startsQuickly: true }),
      throwawayPostgres({ durable: false }),
    ])
    const env = {
      TIDEMARK_DATABASE_URL: postgres.url,
      TIDEMARK_SEARCH_URL: cluster.urls.join(','),
      TIDEMARK_LOG_LEVEL: 'warn',
    }
    servers = [await startServer({ env }), await startServer({ env })]
    await servers[0]!.makeDataset('news')
    key = (await servers[0]!.makeApplication({ entitlements: [{ datasets: ['news'] }] })).key
    collector = (await servers[0]!.makeCollector()).key
  })
  after(async () => {
    await Promise.all((servers ?? []).map((server) => server.kill9()))
    await postgres?.remove()
    await cluster?.remove()
  })

  async function put(): Promise<void> {
    const id = `tide-${acknowledged.length}`
    await send(servers[0]!, collector, [documentOf(id, { title: `Tide ${id}`, body: 'The tide comes in.' })])
    acknowledged.push({ id, at: performance.now() })
  }

  /** Sends a request to one node, for its own view of the cluster. */
  async function ofNode<T>(node: number, path: string, method = 'GET', body?: object): Promise<T> {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${cluster.urls[node]}${path}`, { method, headers, body: JSON.stringify(body) ?? null })
    assert.ok(answer.ok, `${path}: ${await answer.clone().text()}`)
    return (await answer.json()) as T
  }

  /** The node with the primary shard. If only this one is left, it can still be searched. */
  async function holder(): Promise<number> {
    const shards = await ofNode<{ prirep: string; node: string }[]>(0, '/_cat/shards/tidemark-*?format=json')
    return Number(/\d+$/.exec(shards.find(({ prirep }) => prirep === 'p')!.node)![0]) - 1
  }

  /**
   * Sends a request. Returns whether it was refused, warned, or looked complete. Asserts its time limit, and that an
   * answer that looks complete is complete.
   */
  async function ask(server: TestServer, [name, seconds, path, body]: (typeof kinds)[number]): Promise<string> {
    const beganAt = performance.now()
    const method = body === null ? 'GET' : 'POST'
    const answer: Answer = await server.consumer(key, method, path, body ?? undefined)
    const took = (performance.now() - beganAt) / 1000
    assert.ok(took < seconds + patienceSeconds, `${name} took ${took} s: ${answer.text.slice(0, 500)}`)
    if (answer.status === 503) return 'refused'
    assert.equal(answer.status, 200, answer.text)
    const warnings: { code: string }[] = body === null ? [] : answer.body.warnings
    if (warnings.length > 0) return warnings.map(({ code }) => code).join()
    const old = acknowledged.filter(({ at }) => at < beganAt - boundSeconds * 1000)
    const count = body === null ? (answer.body.values[0]?.count ?? 0) : answer.body.results.length
    assert.ok(count >= old.length, `${name} looks whole, and has ${count} of ${old.length}`)
    return 'whole'
  }

  /** Every kind of request to every process, in turn. */
  async function askAll(): Promise<string[]> {
    const told: string[] = []
    for (const kind of kinds) told.push(...(await Promise.all(servers.map((server) => ask(server, kind)))))
    return told
  }

  const wholeAgain = () =>
    until('all is whole, and has everything', async () => {
      boundSeconds = bounds.gettingOn
      const told = await askAll()
      if (told.some((one) => one !== 'whole')) return false
      const { body } = await servers[1]!.consumer(key, 'POST', '/v1/search/keyword', search)
      return body.results.length === acknowledged.length
    })

  const shown = async (server: TestServer, isSo: (samples: Scrape['samples']) => boolean): Promise<Scrape> => {
    let found: Scrape | null = null
    await until('the metrics show it', async () => {
      found = readScrape((await server.admin('GET', '/metrics')).text)
      return isSo(found.samples)
    })
    return found!
  }

  /** Sends documents and all requests until both processes report the problem, and then once more. */
  async function drill(): Promise<Set<string>> {
    boundSeconds = bounds.standingStill
    await put()
    const lacks = /refused|search_index_behind|keyword_search_timed_out/
    const isSaid = (told: readonly string[]) => told.every((one) => lacks.test(one))
    await until('no answer looks whole', async () => {
      await put()
      return isSaid(await askAll())
    })
    await put()
    const told = await askAll()
    assert.ok(isSaid(told), `${told}`)
    for (const server of servers) {
      const ready = await server.call('GET', '/readyz')
      assert.equal(ready.status, 503, ready.text)
      assert.match(ready.body.checks.index.detail, /the search cluster has no manager/)
    }
    return new Set(told)
  }

  test('nodes that say nothing more: every answer in time, none as if it were whole; whole again by itself', async () => {
    for (let i = 0; i < 3; i++) await put()
    await wholeAgain()
    const quiet = await shown(servers[1]!, (samples) => samples.get('tidemark_cluster_has_manager') === 1)
    const left = await holder()
    const others = [0, 1, 2].filter((node) => node !== left)
    for (const node of others) cluster.freeze(node)
    try {
      const told = await drill()
      assert.ok(
        [...told].some((one) => one.includes('search_index_behind')),
        `${[...told]}`,
      )
      for (const server of servers) {
        const after = await shown(server, (samples) => samples.get('tidemark_cluster_has_manager') === 0)
        assert.equal(after.samples.get('tidemark_index_behind'), 1)
        if (noPromtool === false) await assertFires('TidemarkClusterHasNoManager', quiet, after)
      }
    } finally {
      for (const node of others) cluster.thaw(node)
    }
    await wholeAgain()
  })

  test('nodes that are gone, in a cluster that answers nothing then: refused in time; whole again when they are back', async () => {
    const persistent = { 'cluster.no_cluster_manager_block': 'all' }
    await ofNode(0, '/_cluster/settings', 'PUT', { persistent })
    const left = await holder()
    const others = [0, 1, 2].filter((node) => node !== left)
    await Promise.all(others.map((node) => cluster.kill(node)))
    assert.deepEqual([...(await drill())], ['refused'])
    const looked = await servers[0]!.tidemark(['doctor'])
    assert.match(looked.stdout, /FAIL +the search cluster has no manager, .*\n +do: start the missing nodes/)
    await Promise.all(others.map((node) => cluster.restart(node)))
    await wholeAgain()
  })
})
