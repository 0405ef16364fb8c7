import { setTimeout as delay } from 'node:timers/promises'
import { type FeedEvent, wholeFeed } from './content.ts'
import { type Entitled, entitled, faultsOf } from './feed-checker-entitlements.ts'
import { Reader } from './feed-checker-reader.ts'
import { type Verdict, verify } from './feed-checker-verify.ts'
import { chance, Writer } from './feed-checker-writer.ts'
import { noVectors, startServer, type TestServer } from './harness.ts'
import { KeptMirror } from './kept-mirror.ts'

/**
 * The checker of the change feed: many writers, readers that restart, a mirror and a server that are killed again and
 * again; or a fleet of servers on one database, each request to another one, with kills of the database too. Afterwards
 * nothing may be lost, repeated or out of order, every acknowledged document must be readable as acknowledged, and the
 * mirror's copy must equal the server's content.
 */
export interface CheckOptions {
  /** The minimum number of events. */
  readonly events: number
  readonly writers: number
  readonly seed: number
  /**
   * The minimum and maximum number of acknowledged changes between two kills. Not a time, because a slow machine would
   * be killed more often and become even slower.
   */
  readonly changesAlive: readonly [number, number]
  /** Further processes on the same store, killed as well; none if absent. */
  readonly fleet?: Fleet
  readonly report?: (line: string) => void
}

export interface Fleet {
  readonly databaseUrl: string
  /** The number of processes that answer requests, and of processes that only work in the background. */
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
  /** The mirror's verdict on its own copy, and the other faults in it. */
  readonly mirrorSays: string
  readonly copyFaults: readonly string[]
  /** The events that applications with entitlements of every kind saw, and the faults in them. */
  readonly entitled: readonly Entitled[]
  readonly entitledFaults: readonly string[]
  /** Acknowledged documents that are missing, or lack the acknowledged version and text. */
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
  /**
   * Any failure ends the whole run: a reader's, or that of a database that does not come back and for which all others
   * would wait.
   */
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

    const entitledReaders: Reader[] = []
    for (const [i, { name, entitlements }] of entitled.entries()) {
      const own = await server.makeApplication({ entitlements })
      const filter = { event_type: allTypes }
      entitledReaders.push(new Reader(any, own.key, { name, filter, seed: options.seed + 200 + i }))
    }

    let written = false
    const changed = () => writers.reduce((sum, writer) => sum + writer.changed, 0)
    const reading = Promise.all([...readers, ...entitledReaders].map((reader) => reader.read(() => written)))
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
    const limited = await KeptMirror.start(any, entitledReaders.at(-1)!.key)
    const mirroring = mirror.killAgain(options, changed, () => written)
    for (const part of [reading, killing, mirroring]) part.catch(fails)
    const [kills, mirrorKills] = await Promise.all([killing, mirroring, writing, reading])

    const { events: feed } = await wholeFeed(server, key, { event_type: allTypes })
    const wants = (filter: Readonly<Record<string, string>>) => (event: FeedEvent) =>
      (filter.dataset_id === undefined || event.dataset_id === filter.dataset_id) &&
      (filter.event_type ?? plainTypes).split(',').includes(event.event_type)
    const states = new Map(writers.flatMap((writer) => [...writer.states]))
    const seen: Entitled[] = []
    for (const [i, { name, events, pages, key: own }] of entitledReaders.entries()) {
      const { events: ofIt } = await wholeFeed(server, own, { event_type: allTypes })
      seen.push({ name, entitlements: entitled[i]!.entitlements, events, pages, feed: ofIt })
    }
    const limitedCopy = await limited.verify(server)
    const copy = await mirror.verify(server)
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
      replayed: [...readers, ...entitledReaders].reduce((sum, reader) => sum + reader.replayed, 0),
      wrongReplays: [...readers, ...entitledReaders].flatMap((reader) => reader.wrongReplays),
      entitled: seen,
      entitledFaults: seen.flatMap((one) => faultsOf(one, feed, states)),
      unreadable: await countUnreadable(server, key, writers),
      erased: writers.reduce((sum, writer) => sum + writer.erased, 0),
      mirrorKills,
      mirrorSays: `${copy.mirrorSays}; that of an application with ${entitled.at(-1)!.name}: ${limitedCopy.mirrorSays}`,
      copyFaults: [...copy.copyFaults, ...limitedCopy.copyFaults],
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

/** One line for people, and whether there is no fault. */
export function summaryOf(result: CheckResult): { readonly text: string; readonly good: boolean } {
  const { lost, repeated, outOfOrder, altered, unreadable, wrongReplays, copyFaults, entitledFaults } = result
  const words = [...wrongReplays, ...copyFaults, ...entitledFaults]
  const good = lost + repeated + outOfOrder + altered + unreadable + words.length === 0
  const text =
    `${result.events} events of ${result.documents} documents, ${result.acknowledged} acknowledgements, ` +
    `${result.kills} kills, ${result.sentAgain} requests sent again, ${result.replayed} events replayed: ` +
    `lost ${lost}, repeated ${repeated}, out of order ${outOfOrder}, altered ${altered}, ` +
    `wrong replays ${wrongReplays.length}, acknowledged but unreadable ${unreadable}; ` +
    `the mirror, killed ${result.mirrorKills} times, ${result.erased} documents erased: ${result.mirrorSays}\n` +
    `by entitlement, ${entitledFaults.length} faults: ` +
    result.entitled.map(({ name, feed, pages }) => `${name} ${feed.length} events in ${pages} pages`).join(', ')
  return { text, good }
}
