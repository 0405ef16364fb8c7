/**
 * What the layout with a search cluster stands: three OpenSearch nodes, three processes that answer and two that work, on
 * PostgreSQL. Under constant ingest and search by four applications every node is killed in turn, then the cluster's
 * manager, the process that feeds the index, PostgreSQL; the network to a node is cut, and falls silent; the disks are full.
 *
 *   npm run bench -- faults [--only kill-node,full-disk] [--rest 500]
 *
 * `--rest` is how many milliseconds each of two writers pauses between two batches of six documents. Fails on anything that may never be (test/acceptance/cluster-checker.ts). Times are from the fault until what is
 * acknowledged from then on is found by everybody at every process that is there.
 */
import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { type ThrowawayOpenSearch, throwawayOpenSearch } from '../scripts/throwaway-opensearch.ts'
import { type ThrowawayPostgres, throwawayPostgres } from '../scripts/throwaway-postgres.ts'
import { assertNoFault, ClusterChecker } from '../test/acceptance/cluster-checker.ts'
import { FakeEmbedding } from '../test/acceptance/fake-embedding.ts'
import { startServer, type TestServer } from '../test/acceptance/harness.ts'
import { CutRelay } from '../test/support/cut-relay.ts'
import { until } from '../test/support/until.ts'

/** While it lasts everybody does so much. */
const steps = 20

interface Layout {
  readonly cluster: ThrowawayOpenSearch
  readonly postgres: ThrowawayPostgres
  readonly ways: readonly CutRelay[]
  readonly apis: readonly TestServer[]
}

interface Fault {
  readonly name: string
  readonly begin: (layout: Layout) => Promise<unknown>
  /** Gives what it takes to be over, where that is not over by itself. */
  readonly end?: (layout: Layout) => Promise<unknown>
  /** Nothing new can be found while it lasts. */
  readonly stopsFeeding?: boolean
}

const killNode = (name: string, which: (layout: Layout) => Promise<number>): Fault => {
  let killed = 0
  return {
    name,
    begin: async (layout) => {
      killed = await which(layout)
      await layout.cluster.kill(killed)
    },
    end: ({ cluster }) => cluster.restart(killed),
  }
}

function killFeeder(): Fault {
  let killed: TestServer | null = null
  return {
    name: 'kill-feeder',
    begin: async ({ apis }) => {
      killed = await feederOf(apis)
      const beganAt = performance.now()
      await killed.kill9()
      const others = apis.filter((one) => one !== killed)
      await feederOf(others)
      console.log(`  another feeds after ${seconds(beganAt)}`)
    },
    end: async () => killed?.start(),
  }
}

const faults: readonly Fault[] = [
  ...[0, 1, 2].map((node) => killNode('kill-node', async () => node)),
  killNode('kill-manager', managerOf),
  killFeeder(),
  { name: 'kill-postgres', begin: ({ postgres }) => postgres.crash() },
  { name: 'cut-node', begin: async ({ ways }) => ways[0]!.cut(), end: async ({ ways }) => ways[0]!.mend() },
  { name: 'silent-node', begin: async ({ ways }) => ways[1]!.silence(), end: async ({ ways }) => ways[1]!.mend() },
  {
    name: 'full-disk',
    begin: async ({ cluster }) => {
      await fillDisks(cluster, true)
      await until('the cluster blocks its indexes', () => isBlocked(cluster))
    },
    end: async ({ cluster }) => {
      await fillDisks(cluster, false)
      await until('it takes the block away', async () => !(await isBlocked(cluster)))
    },
    stopsFeeding: true,
  },
]

export async function run(args: readonly string[]): Promise<void> {
  const options = { only: { type: 'string' }, rest: { type: 'string', default: '500' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const chosen = faults.filter(({ name }) => values.only?.split(',').includes(name) ?? true)
  const cluster = await throwawayOpenSearch({ nodes: 3, heapMb: 512 })
  const postgres = await throwawayPostgres({ durable: true })
  const embedding = await new FakeEmbedding().start()
  const processes: TestServer[] = []
  try {
    const ways = await Promise.all(cluster.urls.map((url) => CutRelay.to(Number(new URL(url).port))))
    const env = {
      ...embedding.env,
      TIDEMARK_DATABASE_URL: postgres.url,
      TIDEMARK_SEARCH_URL: ways.map(({ port }) => `http://127.0.0.1:${port}`).join(','),
      TIDEMARK_SEARCH_PREFIX: `bench-${randomBytes(4).toString('hex')}`,
      TIDEMARK_SEARCH_SHARDS: '2',
      TIDEMARK_LOG_LEVEL: 'error',
    }
    for (const role of ['api', 'api', 'api', 'worker', 'worker']) {
      processes.push(await startServer({ env: { ...env, TIDEMARK_ROLES: role } }))
    }
    const apis = processes.slice(0, 3)
    await breakThings({ cluster, postgres, ways, apis }, chosen, Number(values.rest))
  } finally {
    await Promise.all(processes.map((one) => one.kill9()))
    await postgres.remove()
    await cluster.remove()
  }
}

async function breakThings(layout: Layout, chosen: readonly Fault[], writersRestMs: number): Promise<void> {
  const checker = await ClusterChecker.start(layout.apis, {
    writers: 2,
    writersRestMs,
    searchers: 6,
    searchersRestMs: 50,
  })
  try {
    await checker.findsAgain()
    for (const { name, begin, end, stopsFeeding } of chosen) {
      console.log(name)
      const beganAt = performance.now()
      await begin(layout)
      const there: TestServer[] = []
      for (const api of layout.apis) if ((await api.call('GET', '/healthz').catch(() => null)) !== null) there.push(api)
      if (stopsFeeding !== true) {
        await checker.findsAgain(there)
        console.log(`  all is found again after ${seconds(beganAt)}`)
      }
      await checker.goOn(steps)
      const endedAt = performance.now()
      await end?.(layout)
      await checker.findsAgain()
      console.log(`  whole again ${seconds(endedAt)} after its end began`)
    }
    const tally = await checker.finish()
    const { acknowledged, answers, refusals, ...kinds } = tally
    const counts = Object.entries(kinds).map(([kind, found]) => `${kind} ${found.length}`)
    console.log(`${acknowledged} documents acknowledged, ${answers} searches answered; ${counts.join(', ')}`)
    for (const [reason, count] of Object.entries(refusals).sort()) console.log(`  refused: ${reason}: ${count}`)
    assertNoFault(tally)
  } finally {
    checker.giveUp()
  }
}

async function feederOf(apis: readonly TestServer[]): Promise<TestServer> {
  let found: TestServer | undefined
  await until('one of them feeds the index', async () => {
    for (const api of apis) {
      const answer = await api.admin('GET', '/admin/v1/indexing').catch(() => null)
      if (answer?.status === 200 && answer.body.feeding) found = api
    }
    return found !== undefined
  })
  return found!
}

async function managerOf({ cluster }: Layout): Promise<number> {
  const [manager] = (await ask(cluster, 'GET', '/_cat/cluster_manager?format=json')) as { node: string }[]
  return Number(/\d+$/.exec(manager!.node)![0]) - 1
}

/** The marks are moved, and the disks are beyond them. */
function fillDisks(cluster: ThrowawayOpenSearch, isFull: boolean): Promise<unknown> {
  const disk = 'cluster.routing.allocation.disk'
  const mark = isFull ? '0.001%' : null
  return ask(cluster, 'PUT', '/_cluster/settings', {
    transient: {
      [`${disk}.threshold_enabled`]: true,
      ...Object.fromEntries(['low', 'high', 'flood_stage'].map((one) => [`${disk}.watermark.${one}`, mark])),
      'cluster.info.update.interval': '10s',
    },
  })
}

async function isBlocked(cluster: ThrowawayOpenSearch): Promise<boolean> {
  const path = '/bench-*/_settings/index.blocks.read_only_allow_delete?flat_settings=true'
  return JSON.stringify(await ask(cluster, 'GET', path)).includes('"true"')
}

async function ask(cluster: ThrowawayOpenSearch, method: string, path: string, body?: object): Promise<unknown> {
  const answer = await fetch(`${cluster.urls[0]}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`)
  return answer.json()
}

const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`
