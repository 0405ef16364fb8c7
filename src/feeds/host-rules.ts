import { setTimeout as sleep } from 'node:timers/promises'
import { type FetchLimits, fetchWithLimits } from '../outbound/fetch-with-limits.ts'
import { everythingAllowed, isAllowed, nothingAllowed, parseRobots, type Robots } from './robots.ts'

/** The part before the slash is the agent name in robots.txt files. */
export const userAgent = 'tidemark-feeds/1'

/** The host does not allow the address to be fetched. */
export class FetchNotAllowed extends Error {}

const robotsKeptMs = 3_600_000
const robotsBytesMax = 512 * 1024
/** A host may ask for pauses, but must not make other feeds wait forever. */
const pauseMaxMs = 60_000
const backOffMs = 60_000
const backOffMaxMs = 3_600_000

interface Host {
  /** No request is sent before this time. */
  freeAt: number
  /** Fetched once, even if several feeds of the host wait for it. */
  robots: { readonly rules: Promise<Robots>; readonly until: number } | null
  crawlDelayMs: number
  last: Promise<unknown>
}

/** The rules of the hosts of feeds: robots.txt, pauses between requests, and one request at a time per host. */
export class HostRules {
  readonly #hosts = new Map<string, Host>()
  readonly #pauseMs: number
  readonly #limits: FetchLimits

  constructor(pauseMs: number, limits: FetchLimits) {
    this.#pauseMs = pauseMs
    this.#limits = limits
  }

  /** Rejects if the address may not be fetched, or if robots.txt cannot be read. */
  async check(url: URL, aborted: AbortSignal): Promise<void> {
    const host = this.#host(url)
    if (host.robots === null || host.robots.until < Date.now()) {
      const rules = this.inTurn(url, aborted, () => this.#readRobots(url, aborted))
      host.robots = { rules, until: Date.now() + robotsKeptMs }
      rules.catch(() => {
        host.robots = null
      })
    }
    const rules = await host.robots.rules
    host.crawlDelayMs = (rules.crawlDelaySeconds ?? 0) * 1000
    if (!isAllowed(rules, url.pathname + url.search)) {
      throw new FetchNotAllowed(`robots.txt of ${url.host} does not allow it`)
    }
  }

  /** Runs `work` for a host after its pause and after earlier work for it. */
  async inTurn<T>(url: URL, aborted: AbortSignal, work: () => Promise<T>): Promise<T> {
    const host = this.#host(url)
    const turn = host.last.then(async () => {
      await sleep(Math.max(0, host.freeAt - Date.now()), undefined, { signal: aborted })
      try {
        return await work()
      } finally {
        const pause = Math.min(pauseMaxMs, Math.max(this.#pauseMs, host.crawlDelayMs))
        host.freeAt = Math.max(host.freeAt, Date.now() + pause)
      }
    })
    host.last = turn.catch(() => {})
    return turn
  }

  /** Sends no request to the host for `waitMs`, the time that it asked for; null if it named no time. */
  backOff(url: URL, waitMs: number | null): void {
    const host = this.#host(url)
    host.freeAt = Date.now() + Math.min(backOffMaxMs, waitMs || backOffMs)
  }

  /** Seconds until the host may be requested again, if that is longer than an ordinary pause; otherwise 0. */
  backsOffFor(url: URL): number {
    const waitMs = this.#host(url).freeAt - Date.now()
    return waitMs > pauseMaxMs || waitMs > this.#pauseMs * 2 + 1000 ? Math.ceil(waitMs / 1000) : 0
  }

  #host(url: URL): Host {
    let host = this.#hosts.get(url.host)
    if (host === undefined) {
      host = { freeAt: 0, robots: null, crawlDelayMs: 0, last: Promise.resolve() }
      this.#hosts.set(url.host, host)
    }
    return host
  }

  /** RFC 9309: a missing file allows everything; a file that cannot be fetched at the moment allows nothing. */
  async #readRobots(url: URL, aborted: AbortSignal): Promise<Robots> {
    const limits = { ...this.#limits, bytesMax: robotsBytesMax }
    const answer = await fetchWithLimits(new URL('/robots.txt', url).href, { 'user-agent': userAgent }, limits, aborted)
    if (answer.status === 200) return parseRobots(answer.body.toString('utf8'), userAgent.split('/', 1)[0]!)
    return answer.status >= 500 || answer.status === 429 ? nothingAllowed : everythingAllowed
  }
}
