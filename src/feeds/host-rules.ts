import { setTimeout as sleep } from 'node:timers/promises'
import { type FetchBounds, fetchBounded } from '../outbound/fetch-bounded.ts'
import { everythingAllowed, isAllowed, nothingAllowed, parseRobots, type Robots } from './robots.ts'

/** The first part is the name that robots.txt files call it by. */
export const userAgent = 'tidemark-feeds/1'

/** The host does not wish the address to be fetched. */
export class FetchNotAllowed extends Error {}

const robotsKeptMs = 3_600_000
const robotsBytesMax = 512 * 1024
/** A host may ask for pauses, but not for so long that other feeds wait for it forever. */
const pauseMaxMs = 60_000
const backOffMs = 60_000
const backOffMaxMs = 3_600_000

interface Host {
  /** No request before this. */
  freeAt: number
  /** Asked for once, however many feeds of the host wait for it. */
  robots: { readonly rules: Promise<Robots>; readonly until: number } | null
  crawlDelayMs: number
  last: Promise<unknown>
}

/** What the hosts that feeds come from ask for: robots.txt, and pauses between requests. One request at a time each. */
export class HostRules {
  readonly #hosts = new Map<string, Host>()
  readonly #pauseMs: number
  readonly #bounds: FetchBounds

  constructor(pauseMs: number, bounds: FetchBounds) {
    this.#pauseMs = pauseMs
    this.#bounds = bounds
  }

  /** Rejects where the address may not be fetched, or where that cannot even be asked. */
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

  /** Does something with a host when its pause is over, after whatever else waits for it. */
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

  /** The host said to come back later; null where it did not say when. Until then nothing is asked of it. */
  backOff(url: URL, waitMs: number | null): void {
    const host = this.#host(url)
    host.freeAt = Date.now() + Math.min(backOffMaxMs, waitMs || backOffMs)
  }

  /** Seconds until the host may be asked again, where that is longer than an ordinary pause. */
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

  /** RFC 9309: a file that is not there allows everything, one that cannot be had at the moment nothing. */
  async #readRobots(url: URL, aborted: AbortSignal): Promise<Robots> {
    const bounds = { ...this.#bounds, bytesMax: robotsBytesMax }
    const answer = await fetchBounded(new URL('/robots.txt', url).href, { 'user-agent': userAgent }, bounds, aborted)
    if (answer.status === 200) return parseRobots(answer.body.toString('utf8'), userAgent.split('/', 1)[0]!)
    return answer.status >= 500 || answer.status === 429 ? nothingAllowed : everythingAllowed
  }
}
