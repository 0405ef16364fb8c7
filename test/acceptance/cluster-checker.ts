import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../support/until.ts'
import { path, type Result, type Sent } from './content.ts'
import type { Answer, TestServer } from './harness.ts'
import type { Found, Hit } from './search-world.ts'

/**
 * Several applications with narrow scopes send and search documents all the time, through all processes, while the test
 * breaks things. The checker counts faults that must never occur:
 *
 *   missing        acknowledged, and not found at the end
 *   twice          found twice in one answer, or counted twice
 *   outside        found by an application that may not see it
 *   falselyWhole   an answer without a warning that lacks documents of an earlier answer
 *   unexpected     an answer that is neither right nor 503
 *
 * A refusal is no fault. It is counted too.
 */
export interface Tally {
  readonly acknowledged: number
  readonly answers: number
  readonly refusals: Readonly<Record<string, number>>
  readonly missing: readonly string[]
  readonly twice: readonly string[]
  readonly outside: readonly string[]
  readonly falselyWhole: readonly string[]
  readonly unexpected: readonly string[]
}

/**
 * The number of writers and searchers, and their pauses between requests. Without pauses the index would never catch
 * up.
 */
interface Load {
  readonly writers: number
  readonly writersRestMs: number
  readonly searchers: number
  readonly searchersRestMs: number
}

const datasets = ['harbour', 'weather', 'ferries'] as const
const languages = ['en', 'de'] as const

interface Reader {
  readonly name: string
  readonly key: string
  readonly mayRead: (about: Pick<Hit, 'dataset_id' | 'language'>) => boolean
}

/** Documents of every kind that share a unique word. */
interface Batch {
  readonly word: string
  readonly documents: ReadonlyMap<string, Pick<Hit, 'dataset_id' | 'language'>>
  /** The readers that have found all documents they may read. */
  readonly seenBy: Set<Reader>
}

export class ClusterChecker {
  readonly #servers: readonly TestServer[]
  readonly #collector: string
  readonly #readers: readonly Reader[]
  readonly #load: Load
  readonly #batches: Batch[] = []
  readonly #refusals = new Map<string, number>()
  readonly #faults = {
    missing: [] as string[],
    twice: [] as string[],
    outside: [] as string[],
    falselyWhole: [] as string[],
    unexpected: [] as string[],
  }
  readonly #lanes: { readonly running: Promise<void>; steps: number }[] = []
  #answers = 0
  /** `finishing`: no new requests start. `given up`: running ones need not finish either. */
  #ending: 'finishing' | 'given up' | null = null

  private constructor(servers: readonly TestServer[], collector: string, readers: readonly Reader[], load: Load) {
    this.#servers = servers
    this.#collector = collector
    this.#readers = readers
    this.#load = load
  }

  static async start(servers: readonly TestServer[], load: Load): Promise<ClusterChecker> {
    const [first] = servers
    for (const dataset of datasets) await first!.makeDataset(dataset)
    const { key: collector } = await first!.makeCollector()
    const narrow = datasets.map(async (dataset): Promise<Reader> => {
      const { key } = await first!.makeApplication({ entitlements: [{ datasets: [dataset], languages: ['en'] }] })
      const mayRead: Reader['mayRead'] = (about) => about.dataset_id === dataset && about.language === 'en'
      return { name: dataset, key, mayRead }
    })
    const { key } = await first!.makeApplication({ entitlements: [{ datasets }] })
    const readers = [...(await Promise.all(narrow)), { name: 'everything', key, mayRead: () => true }]
    const checker = new ClusterChecker(servers, collector, readers, load)
    for (let i = 0; i < load.writers; i++) checker.#lane(() => checker.#write(), load.writersRestMs)
    for (let i = 0; i < load.searchers; i++) checker.#lane(() => checker.#searchSomething(), load.searchersRestMs)
    return checker
  }

  /** Resolves when every writer and searcher has made this many more steps, with success or not. */
  async goOn(steps: number): Promise<void> {
    const goals = this.#lanes.map((lane) => lane.steps + steps)
    await until('everybody goes on', () => this.#lanes.every((lane, i) => lane.steps >= goals[i]!))
  }

  /** Resolves when every process, or each of the given ones, finds documents acknowledged from now on. */
  async findsAgain(servers: readonly TestServer[] = this.#servers): Promise<void> {
    const from = this.#batches.length
    await until('more is acknowledged', () => this.#batches.length > from)
    const batch = this.#batches[from]!
    for (const server of servers) {
      for (const reader of this.#readers) {
        await until(`${reader.name} finds what came in`, () => this.#search(batch, reader, server))
      }
    }
  }

  /** Stops everything after a failure. */
  giveUp(): void {
    this.#ending = 'given up'
  }

  /** Stops all load and then searches for every document. The test must have repaired everything before. */
  async finish(): Promise<Tally> {
    this.#ending = 'finishing'
    await Promise.all(this.#lanes.map(({ running }) => running))
    for (const server of this.#servers) {
      await until('nothing is behind', async () => {
        const answer = await server.admin('GET', '/admin/v1/indexing')
        return answer.status === 200 && answer.body.pending_documents === 0
      })
    }
    for (const [i, batch] of this.#batches.entries()) {
      for (const reader of this.#readers) await this.#sweep(batch, reader, this.#servers[i % this.#servers.length]!)
    }
    const acknowledged = this.#batches.reduce((sum, { documents }) => sum + documents.size, 0)
    const { body } = await this.#servers[0]!.admin('GET', '/admin/v1/indexing')
    if (body.indexed_documents !== acknowledged) {
      this.#faults.twice.push(`${acknowledged} documents were acknowledged, the index has ${body.indexed_documents}`)
    }
    return { acknowledged, answers: this.#answers, refusals: Object.fromEntries(this.#refusals), ...this.#faults }
  }

  #lane(step: () => Promise<void>, restMs: number): void {
    const lane = { running: Promise.resolve(), steps: 0 }
    const run = async (): Promise<void> => {
      while (this.#ending === null) {
        await step()
        lane.steps++
        await sleep(restMs)
      }
    }
    this.#lanes.push(Object.assign(lane, { running: run() }))
  }

  async #write(): Promise<void> {
    const word = wordOf(randomBytes(8))
    const sent: Sent[] = datasets.flatMap((dataset) =>
      languages.map((language) => ({
        dataset_id: dataset,
        source_platform: 'rss',
        external_id: `${word}-${dataset}-${language}`,
        title: `Tide table ${word}`,
        body: `The tide of ${word} comes in twice a day.`,
        language,
      })),
    )
    while (this.#ending !== 'given up') {
      const answer = await this.#ask('write', (server) =>
        server.collector(this.#collector, 'POST', path, { documents: sent }),
      )
      if (answer !== null) {
        const results = answer.body.results as Result[]
        const failed = results.find(({ document_id }) => document_id === undefined)
        if (failed !== undefined) this.#faults.unexpected.push(`a document was refused: ${JSON.stringify(failed)}`)
        const documents = new Map(results.map(({ document_id }, i) => [document_id!, sent[i] as unknown as Hit]))
        this.#batches.push({ word, documents, seenBy: new Set() })
        return
      }
      // Whether the documents were stored is unknown. Sending them again changes nothing.
      await sleep(this.#load.searchersRestMs)
    }
  }

  async #searchSomething(): Promise<void> {
    const batch = anyOf(this.#batches)
    if (batch !== undefined) await this.#search(batch, anyOf(this.#readers)!, anyOf(this.#servers)!)
  }

  /** Returns whether all documents were found. */
  async #search(batch: Batch, reader: Reader, server: TestServer): Promise<boolean> {
    const wasSeen = batch.seenBy.has(reader)
    const mode = Math.random() < 0.2 ? 'hybrid' : 'keyword'
    const answer = await this.#ask(
      'search',
      (one) => one.consumer(reader.key, 'POST', '/v1/search', { query: batch.word, mode, limit: 50 }),
      server,
    )
    if (answer === null) return false
    this.#answers++
    const { results, total_documents, degraded, warnings } = answer.body as Found
    const ids = results.map(({ document_id }) => document_id)
    const about = `${reader.name} by ${mode} for ${batch.word}`
    if (new Set(ids).size < ids.length) this.#faults.twice.push(about)
    for (const hit of results) {
      if (!reader.mayRead({ dataset_id: hit.dataset_id, language: hit.language ?? null })) {
        this.#faults.outside.push(`${about}: ${JSON.stringify(hit)}`)
      }
    }
    const wanted = wantedBy(reader, batch)
    const isFound = wanted.every((id) => ids.includes(id))
    if (degraded || warnings.length > 0) return false
    if (wasSeen && !isFound) this.#faults.falselyWhole.push(`${about}: ${ids.length} of ${wanted.length}`)
    // A search by meaning also finds documents without the word.
    if (mode === 'keyword' && total_documents !== ids.length) {
      this.#faults.falselyWhole.push(`${about}: ${ids.length} results, ${total_documents} in all`)
    }
    if (isFound) batch.seenBy.add(reader)
    return isFound
  }

  /** At the end only an answer is awaited, not progress. */
  async #sweep(batch: Batch, reader: Reader, server: TestServer): Promise<void> {
    let answer: Answer | null = null
    await until('it answers', async () => {
      const body = { query: batch.word, mode: 'keyword', limit: 50 }
      answer = await this.#ask('search', (one) => one.consumer(reader.key, 'POST', '/v1/search', body), server)
      return answer !== null && answer.body.warnings.length === 0
    })
    const ids: string[] = answer!.body.results.map(({ document_id }: Hit) => document_id)
    const wanted = wantedBy(reader, batch)
    const about = `${reader.name} for ${batch.word}: ${ids.length} of ${wanted.length}`
    if (!wanted.every((id) => ids.includes(id))) this.#faults.missing.push(about)
    else if (ids.length > wanted.length) this.#faults.twice.push(about)
  }

  /** Null if the request was refused or the process is gone. */
  async #ask(
    what: string,
    ask: (server: TestServer) => Promise<Answer>,
    server: TestServer = anyOf(this.#servers)!,
  ): Promise<Answer | null> {
    const answer = await ask(server).catch(() => null)
    if (answer?.status === 200) return answer
    const reason = answer === null ? 'no answer' : `${answer.status} ${answer.body?.error?.code ?? ''}`
    if (answer !== null && answer.status !== 503) this.#faults.unexpected.push(`${what}: ${reason}: ${answer.text}`)
    this.#refusals.set(`${what}: ${reason}`, (this.#refusals.get(`${what}: ${reason}`) ?? 0) + 1)
    return null
  }
}

/** Asserts that there were no faults, and that there was some work. */
export function assertNoFault(tally: Tally): void {
  const { missing, twice, outside, falselyWhole, unexpected, acknowledged, answers } = tally
  const faults = { missing, twice, outside, falselyWhole, unexpected }
  for (const [kind, found] of Object.entries(faults)) assert.deepEqual(found.slice(0, 5), [], kind)
  assert.ok(acknowledged > 0 && answers > 0)
}

const wantedBy = (reader: Reader, { documents }: Batch): string[] =>
  [...documents].filter(([, about]) => reader.mayRead(about)).map(([id]) => id)

const anyOf = <T>(list: readonly T[]): T | undefined => list[Math.floor(Math.random() * list.length)]

/** Letters only, so that it is one word, similar to no other. */
const wordOf = (bytes: Buffer): string => Array.from(bytes, (byte) => 'bcdfghjklmnpqrst'.charAt(byte % 16)).join('')
