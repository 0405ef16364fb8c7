import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { findPostgres, type ThrowawayPostgres, throwawayPostgres } from '../../scripts/throwaway-postgres.ts'
import { CutRelay } from '../support/cut-relay.ts'
import { openSearchNodes, withoutOpenSearch } from '../support/opensearch-nodes.ts'
import { until } from '../support/until.ts'
import { assertNoFault, ClusterChecker } from './cluster-checker.ts'
import { startServer, type TestServer } from './harness.ts'

const missing =
  openSearchNodes === null ? withoutOpenSearch : findPostgres() === null ? 'there is no PostgreSQL' : false

/** docs/decisions/0009 describes a longer run with three nodes, which were killed, and more processes. */
suite('processes on PostgreSQL that search one cluster, while things break', { skip: missing }, () => {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  const node = openSearchNodes?.[0] ?? ''
  let postgres: ThrowawayPostgres
  let ways: CutRelay[]
  let servers: TestServer[]
  before(async () => {
    postgres = await throwawayPostgres({ durable: false })
    // Two relays to one node stand for two nodes.
    ways = await Promise.all([1, 2].map(() => CutRelay.to(Number(new URL(node).port))))
    const env = {
      TIDEMARK_DATABASE_URL: postgres.url,
      TIDEMARK_SEARCH_URL: ways.map(({ port }) => `http://127.0.0.1:${port}`).join(','),
      TIDEMARK_SEARCH_PREFIX: prefix,
      TIDEMARK_LOG_LEVEL: 'error',
    }
    servers = [await startServer({ env }), await startServer({ env })]
  })
  after(async () => {
    await Promise.all(servers.map((server) => server.kill9()))
    await postgres.remove()
    const indexes = (await (await fetch(`${node}/${prefix}-*`)).json()) as object
    for (const name of Object.keys(indexes)) await fetch(`${node}/${name}`, { method: 'DELETE' })
  })

  const block = (blocks: true | null) =>
    fetch(`${node}/${prefix}-*/_settings`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ 'index.blocks.read_only_allow_delete': blocks }),
    })
  const feeder = async (): Promise<TestServer> => {
    let found: TestServer | undefined
    await until('one of them feeds the index', async () => {
      for (const server of servers) {
        const { status, body } = await server.admin('GET', '/admin/v1/indexing')
        if (status === 200 && body.feeding) found = server
      }
      return found !== undefined
    })
    return found!
  }

  test('what is acknowledged is found once, by those who may; no answer that says nothing of it lacks anything', async (t) => {
    const checker = await ClusterChecker.start(servers, {
      writers: 1,
      writersRestMs: 500,
      searchers: 3,
      searchersRestMs: 100,
    })
    t.after(() => checker.giveUp())
    await checker.findsAgain()

    ways[0]!.cut()
    await checker.goOn(4)
    await checker.findsAgain()
    ways[0]!.repair()

    const killed = await feeder()
    await killed.kill9()
    await checker.goOn(4)
    await killed.start()
    await checker.findsAgain()

    // The block that the cluster sets when the disk of a node is full.
    await block(true)
    await checker.goOn(4)
    const blocked = await servers[0]!.call('GET', '/readyz')
    assert.equal(blocked.status, 503, blocked.text)
    assert.match(blocked.body.checks.index.detail, /the cluster refuses writes to the search index/)
    await block(null)
    await checker.findsAgain()

    await postgres.crash()
    await checker.goOn(4)
    await checker.findsAgain()

    for (const way of ways) way.cut()
    await checker.goOn(4)
    for (const way of ways) way.repair()
    await checker.findsAgain()
    assertNoFault(await checker.finish())
  })
})
