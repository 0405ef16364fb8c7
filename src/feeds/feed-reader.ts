import { type FetchLimits, FetchRefused, fetchWithLimits } from '../outbound/fetch-with-limits.ts'
import { parseRetryAfter } from '../outbound/retry-delay.ts'
import { decodeText } from './decode-text.ts'
import type { Feed, FeedsConfig } from './feeds-file.ts'
import { FetchNotAllowed, HostRules, userAgent } from './host-rules.ts'
import { type FeedDocument, parseEntries } from './parse-entries.ts'

export interface FeedContent {
  readonly entries: readonly FeedDocument[]
  readonly etag: string | undefined
  readonly lastModified: string | undefined
}

export type FeedRead =
  | ({ readonly kind: 'read' } & FeedContent)
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }

const accepted =
  'application/feed+json, application/atom+xml, application/rss+xml, application/rdf+xml, application/json;q=0.9, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.1'

/**
 * Fetches and parses feeds within limits, following the rules of their hosts. Never throws because of a feed or its
 * host.
 */
export class FeedReader {
  readonly #config: FeedsConfig
  readonly #limits: FetchLimits
  readonly #hosts: HostRules

  constructor(config: FeedsConfig) {
    this.#config = config
    this.#limits = {
      bytesMax: config.bytesMax,
      timeoutMs: config.timeoutMs,
      redirectsMax: config.redirectsMax,
      allows: config.allows,
    }
    this.#hosts = new HostRules(config.hostPauseMs, this.#limits)
  }

  /** `known` holds the validators of the last read. The result is `unchanged` if they still match. */
  async read(
    feed: Feed,
    known: { readonly etag?: string | undefined; readonly lastModified?: string | undefined },
    aborted: AbortSignal,
  ): Promise<FeedRead> {
    const url = new URL(feed.url)
    const wait = this.#hosts.backsOffFor(url)
    if (wait > 0) return failed('backoff', `${url.host} asked for no requests for another ${wait} seconds`)
    try {
      await this.#hosts.check(url, aborted)
      const headers = {
        'user-agent': userAgent,
        accept: accepted,
        ...(known.etag === undefined ? {} : { 'if-none-match': known.etag }),
        ...(known.lastModified === undefined ? {} : { 'if-modified-since': known.lastModified }),
      }
      const answer = await this.#hosts.inTurn(url, aborted, () =>
        fetchWithLimits(feed.url, headers, this.#limits, aborted, (next) => this.#hosts.check(next, aborted)),
      )
      if (answer.status === 304) return { kind: 'unchanged' }
      if (answer.status === 429 || answer.status === 503) {
        this.#hosts.backOff(url, parseRetryAfter(answer.headers['retry-after'] ?? null))
      }
      if (answer.status !== 200) return failed('status', `the server answered ${answer.status}`)
      const text = decodeText(answer.body, answer.headers['content-type'])
      return {
        kind: 'read',
        entries: parseEntries(text, answer.url, this.#config.entriesMax, feed.language),
        etag: answer.headers.etag,
        lastModified: answer.headers['last-modified'],
      }
    } catch (error) {
      aborted.throwIfAborted()
      if (error instanceof FetchNotAllowed) return failed('robots', error.message)
      if (error instanceof FetchRefused) return failed(error.reason, `${error.message}${remedies[error.reason] ?? ''}`)
      return failed('format', `it is not a readable feed (${(error as Error).message})`)
    }
  }
}

const failed = (reason: string, message: string): FeedRead => ({ kind: 'failed', reason, message })

const remedies: Readonly<Record<string, string>> = {
  address: ': to allow it, set allow_private_addresses in the feeds file or pass --allow-private-addresses',
}
