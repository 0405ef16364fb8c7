import { setTimeout as delay } from 'node:timers/promises'
import { type FeedEvent, wholeFeed } from './content.ts'
import { Reader } from './feed-checker-reader.ts'
import { type Verdict, verify } from './feed-checker-verify.ts'
import { chance, Writer } from './feed-checker-writer.ts'
import { noVectors, startServer, type TestServer } from './harness.ts'
import { KeptMirror } from './kept-mirror.ts'

/**
 * The checker of the change feed: many writers, readers that restart, a mirror and a server that are killed again and
 * again; or a fleet of servers on one database, each request to another one, and the database killed too.
 * Afterwards nothing may be lost, repeated or out of order, every acknowledged document must be readable as it was
 * acknowledged, and the mirror's copy must equal what the server says.
 */
export interface CheckOptions {
  /** At least so many events are written. */
  readonly events: number
  readonly writers: number
  readonly seed: number
  /**
   * Changes that are acknowledged between two kills, at the least and at the most. Not a time: a slow machine would be
   * killed more often, and be slower still.
   */
  readonly changesAlive: readonly [number, number]
  /** Further processes on the same store, killed as well; none when absent. */
  readonly fleet?: Fleet
  readonly report?: (line: string) => void
}

export interface Fleet {
  readonly databaseUrl: string
  /** Processes that answer requests, and processes that only work in the background. */
  readonly api: number
  readonly workers: number
  /** Kills the database itself, and starts it again. */
  killDatabase(): Promise<void>
}

export interface CheckResult extends Verdict {
  readonly events: number
  readonly documents: number
  readonly acknowledged: number
  readonly kills: number
  readonly sentAgain: number
  readonly replayed: number
  readonly wrongReplays: readonly string[]
  readonly erased: number
  readonly mirrorKills: number
  /** What the mirror says of its own copy, and what else is wrong with it. */
  readonly mirrorSays: string
  readonly copyFaults: readonly string[]
  /** Acknowledged documents that are not there, or not with the acknowledged version and text. */
  readonly unreadable: number
}

const plainTypes = 'document.created,document.version.created,document.metrics.updated'
const allTypes = `${plainTypes},document.updated,document.erased`

const filters: readonly Record<string, string>[] = [
  {},
  {},
  { dataset_id: 'even' },
  { event_type: 'document.version.created,document.metrics.updated' },
]

export async function checkFeed(options: CheckOptions): Promise<CheckResult> {
  const report = options.report ?? (() => {})
  const servers = await startAll({ TIDEMARK_LOG_LEVEL: 'fatal', ...noVectors }, options.fleet)
  const answering = servers.slice(0, options.fleet?.api ?? 1)
  const server = answering[0]!
  const choose = chance(options.seed + 2000)
  /** Whatever fails ends all: a reader, or a database that does not come back, which the others would wait for. */
  let failed = false
  const fails = () => {
    failed = true
  }
  const any = (): TestServer => {
    if (failed) throw new Error('the check has failed')
    return answering[choose(answering.length)]!
  }
  try {
    for (const dataset of ['even', 'odd']) await server.makeDataset(dataset)
    const { key } = await server.makeApplication({ entitlements: [{ datasets: ['even', 'odd'] }] })
    const writers: Writer[] = []
    for (let i = 0; i < options.writers; i++) {
      writers.push(new Writer(any, (await server.makeCollector()).key, `w${i}`, options.seed + i))
    }
    const readers = filters.map(
      (filter, i) => new Reader(any, key, { name: `reader ${i}`, filter, seed: options.seed + 100 + i }),
    )

    let written = false
    const changed = () => writers.reduce((sum, writer) => sum + writer.changed, 0)
    const reading = Promise.all(readers.map((reader) => reader.read(() => written)))
    const writing = Promise.all(
      writers.map(async (writer) => {
        while (changed() < options.events) await writer.write()
      }),
    ).finally(() => {
      written = true
    })
    const kill: (() => Promise<void>)[] = servers.map((one) => async () => {
      await one.kill9()
      await one.start()
    })
    if (options.fleet !== undefined) kill.push(() => options.fleet!.killDatabase())
    const killing = killAgain(kill, options, changed, () => written, report)
    const mirror = await KeptMirror.start(any, key)
    const mirroring = mirror.killAgain(options, changed, () => written)
    for (const part of [reading, killing, mirroring]) part.catch(fails)
    const [kills, mirrorKills] = await Promise.all([killing, mirroring, writing, reading])

    const { events: feed } = await wholeFeed(server, key, { event_type: allTypes })
    const wants = (filter: Readonly<Record<string, string>>) => (event: FeedEvent) =>
      (filter.dataset_id === undefined || event.dataset_id === filter.dataset_id) &&
      (filter.event_type ?? plainTypes).split(',').includes(event.event_type)
    const acknowledged = writers.flatMap((writer) => writer.acknowledged)
    const verdict = verify({
      acknowledged,
      feed,
      passes: readers.map(({ name, events }, i) => ({ name, events, wants: wants(filters[i]!) })),
    })
    return {
      ...verdict,
      events: feed.length,
      documents: writers.reduce((sum, writer) => sum + writer.documents.length, 0),
      acknowledged: acknowledged.length,
      kills,
      sentAgain: writers.reduce((sum, writer) => sum + writer.sentAgain, 0),
      replayed: readers.reduce((sum, reader) => sum + reader.replayed, 0),
      wrongReplays: readers.flatMap((reader) => reader.wrongReplays),
      unreadable: await countUnreadable(server, key, writers),
      erased: writers.reduce((sum, writer) => sum + writer.erased, 0),
      mirrorKills,
      ...(await mirror.verify(server)),
    }
  } finally {
    await Promise.all(servers.map((one) => one.kill9()))
  }
}

async function startAll(env: Readonly<Record<string, string>>, fleet: Fleet | undefined): Promise<TestServer[]> {
  if (fleet === undefined) return [await startServer({ env })]
  const roles = [...Array(fleet.api).fill('api'), ...Array(fleet.workers).fill('worker')]
  const servers: TestServer[] = []
  for (const role of roles) {
    const own = { TIDEMARK_ROLES: role, TIDEMARK_DATABASE_URL: fleet.databaseUrl }
    servers.push(await startServer({ env: { ...env, ...own } }))
  }
  return servers
}

async function killAgain(
  kill: readonly (() => Promise<void>)[],
  { changesAlive: [least, most], seed }: CheckOptions,
  changed: () => number,
  done: () => boolean,
  report: (line: string) => void,
): Promise<number> {
  const random = chance(seed + 1000)
  for (let kills = 0; ; kills++) {
    const next = changed() + least + random(most - least + 1)
    while (changed() < next && !done()) {
      report(`${changed()} changes acknowledged, ${kills} kills`)
      await delay(20)
    }
    if (done() && kills > 0) return kills
    await kill[random(kill.length)]!()
  }
}

async function countUnreadable(server: TestServer, key: string, writers: readonly Writer[]): Promise<number> {
  let unreadable = 0
  const documents = writers.flatMap((writer) => writer.documents)
  for (let from = 0; from < documents.length; from += 200) {
    const part = documents.slice(from, from + 200)
    const { body } = await server.consumer(key, 'POST', '/v1/documents/batch-get', {
      document_ids: part.map((one) => one.documentId),
    })
    const found = new Map<
      string,
      { content: { version_id: string; body: string }; external_id: string; score: number }
    >()
    for (const document of body.documents) found.set(document.id, document)
    for (const { documentId, versionId, externalId, body: text, score } of part) {
      const there = found.get(documentId)
      const good =
        there?.external_id === externalId &&
        there.content.version_id === versionId &&
        there.content.body === text &&
        there.score === score
      if (!good) unreadable++
    }
  }
  return unreadable
}

/** One line for people, and whether anything is at fault. */
export function summaryOf(result: CheckResult): { readonly text: string; readonly good: boolean } {
  const { lost, repeated, outOfOrder, altered, unreadable, wrongReplays, copyFaults } = result
  const good = lost + repeated + outOfOrder + altered + unreadable + wrongReplays.length + copyFaults.length === 0
  const text =
    `${result.events} events of ${result.documents} documents, ${result.acknowledged} acknowledgements, ` +
    `${result.kills} kills, ${result.sentAgain} requests sent again, ${result.replayed} events replayed: ` +
    `lost ${lost}, repeated ${repeated}, out of order ${outOfOrder}, altered ${altered}, ` +
    `wrong replays ${wrongReplays.length}, acknowledged but unreadable ${unreadable}; ` +
    `the mirror, killed ${result.mirrorKills} times, ${result.erased} documents erased: ${result.mirrorSays}`
  return { text, good }
}
