import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { startServer, type TestServer } from './harness.ts'

const restMs = 100
/** A word in every document. Each document is one chunk. */
const everywhere = 'tide'

/**
 * A load balancer and its clients, while processes of one version replace those of another. Documents are sent and
 * searched all the time at ready processes. A fault is an answer that lacks a document found before the change and does
 * not say so, also from a process that is not ready, or a moment without any ready process.
 */
export class UpgradeTraffic {
  readonly faults: string[] = []
  /** The number of complete, incomplete and refused searches. */
  readonly searches = { whole: 0, incomplete: 0, refused: 0 }
  readonly #env: Readonly<Record<string, string>>
  #servers: TestServer[] = []
  readonly #inFlight = new Map<TestServer, Set<Promise<unknown>>>()
  #key = ''
  #collector = ''
  #sent = 0
  /** Every answer must have this many documents, or say that it is incomplete. */
  #floor = 0
  #asked = 0
  #ended = false
  #running: Promise<unknown> = Promise.resolve()

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env
  }

  /** Starts the first process, with documents that all processes must find. */
  async begin(main: string, documents: number): Promise<TestServer> {
    const first = await this.#launch(main)
    await first.makeDataset('news')
    this.#key = (await first.makeApplication({ entitlements: [{ datasets: ['news'] }] })).key
    this.#collector = (await first.makeCollector()).key
    await this.#untilReady(first)
    for (let left = documents; left > 0; left -= 100) await this.#send(Math.min(100, left))
    this.#running = Promise.all([this.#repeat(() => this.#searchOnce()), this.#repeat(() => this.#send(1))])
    // Awaited, with its errors, when the traffic ends.
    this.#running.catch(() => {})
    await this.allFound()
    return first
  }

  /** Starts another process and waits until it is ready. */
  async start(main: string, dataDir?: string): Promise<TestServer> {
    const server = await this.launch(main, dataDir)
    await this.#untilReady(server)
    return server
  }

  /** Starts another process that need not become ready. From here on no answer may lack documents sent before. */
  async launch(main: string, dataDir?: string): Promise<TestServer> {
    if (this.#servers.length > 0) await this.allFound()
    return this.#launch(main, dataDir)
  }

  /** Sends no more requests to the server, waits for those in flight, and stops it. */
  async stop(server: TestServer): Promise<void> {
    this.#servers = this.#servers.filter((one) => one !== server)
    await Promise.allSettled(this.#inFlight.get(server) ?? [])
    assert.equal(await server.stop(), 0, server.stderr)
  }

  async allFound(): Promise<void> {
    const sent = this.#sent
    for (const server of await this.#ready()) {
      await until('it finds all', async () => {
        const { status, body } = await this.#ask(server, (one) => this.#search(one, 'keyword'))
        return status === 200 && !body.degraded && body.total_chunks >= sent
      })
    }
    this.#floor = sent
  }

  /** Stops the traffic while no process runs. */
  async pauseWhile(work: () => Promise<void>): Promise<void> {
    await this.allFound()
    this.#ended = true
    await this.#running
    await work()
    this.#ended = false
    this.#running = Promise.all([this.#repeat(() => this.#searchOnce()), this.#repeat(() => this.#send(1))])
    this.#running.catch(() => {})
  }

  async end(): Promise<void> {
    this.#ended = true
    await this.#running
    for (const server of this.#servers) await server.stop()
  }

  async #launch(main: string, dataDir?: string): Promise<TestServer> {
    const server = await startServer({ main, env: this.#env, ...(dataDir === undefined ? {} : { dataDir }) })
    this.#inFlight.set(server, new Set())
    this.#servers.push(server)
    return server
  }

  #untilReady(server: TestServer): Promise<void> {
    return until('it is ready', () => this.#isReady(server))
  }

  async #repeat(work: () => Promise<void>): Promise<void> {
    while (!this.#ended) {
      await work()
      await sleep(restMs)
    }
  }

  async #ask<T>(server: TestServer, work: (server: TestServer) => Promise<T>): Promise<T> {
    const asked = work(server)
    const inFlight = this.#inFlight.get(server)!
    inFlight.add(asked)
    try {
      return await asked
    } finally {
      inFlight.delete(asked)
    }
  }

  async #isReady(server: TestServer): Promise<boolean> {
    return (await this.#ask(server, (one) => one.call('GET', '/readyz'))).status === 200
  }

  async #ready(): Promise<TestServer[]> {
    const known = this.#servers
    const ready = await Promise.all(known.map((server) => this.#isReady(server)))
    const found = known.filter((_, i) => ready[i])
    // A process that was stopped meanwhile has been replaced.
    if (found.length === 0 && known === this.#servers) this.faults.push(`none of ${known.length} processes is ready`)
    return found.filter((one) => this.#servers.includes(one))
  }

  async #send(count: number): Promise<void> {
    const [server] = await this.#ready()
    if (server === undefined) return
    const documents = Array.from({ length: count }, (_, i) => {
      const name = `d${this.#sent + i + 1}`
      return documentOf(name, { title: `Letter ${name}`, body: `The ${everywhere} of ${name} comes twice a day.` })
    })
    await this.#ask(server, (one) => send(one, this.#collector, documents))
    this.#sent += count
  }

  #search(server: TestServer, mode: string) {
    return server.consumer(this.#key, 'POST', '/v1/search', { query: everywhere, mode })
  }

  /** Searches a ready process, and one that is not ready, which may refuse or say that its answer is incomplete. */
  async #searchOnce(): Promise<void> {
    const ready = await this.#ready()
    const unready = this.#servers.filter((one) => !ready.includes(one))
    const turn = this.#asked++
    for (const some of [ready, unready]) {
      const server = some[turn % Math.max(1, some.length)]
      // The server may have been stopped since.
      if (server === undefined || !this.#servers.includes(server)) continue
      const floor = this.#floor
      if (turn % 4 === 3) await this.#checkValues(server, floor)
      else await this.#checkSearch(server, floor, ['keyword', 'hybrid', 'vector'][turn % 4]!)
    }
  }

  async #checkSearch(server: TestServer, floor: number, mode: string): Promise<void> {
    const { status, body, text } = await this.#ask(server, (one) => this.#search(one, mode))
    if (status === 503) this.searches.refused++
    else if (status !== 200) this.faults.push(`${mode}: ${status} ${text}`)
    else if (body.degraded) this.searches.incomplete++
    else {
      this.searches.whole++
      const found = mode === 'keyword' ? body.total_chunks : body.results.length
      const wanted = mode === 'keyword' ? floor : Math.min(1, floor)
      if (found < wanted) this.faults.push(`${mode}: ${found} of ${wanted}, and nothing said`)
    }
  }

  async #checkValues(server: TestServer, floor: number): Promise<void> {
    const { status, body, text } = await this.#ask(server, (one) =>
      one.consumer(this.#key, 'GET', '/v1/values/dataset'),
    )
    if (status === 503) this.searches.refused++
    else if (status !== 200) this.faults.push(`values: ${status} ${text}`)
    else {
      this.searches.whole++
      const counted = body.values[0]?.count ?? 0
      if (counted < floor) this.faults.push(`values: ${counted} of ${floor}, and nothing said`)
    }
  }
}
