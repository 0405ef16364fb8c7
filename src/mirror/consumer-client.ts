import { setTimeout as sleep } from 'node:timers/promises'
import { parseRetryAfter, retryDelay } from '../outbound/retry-delay.ts'
import { withDeadline } from '../outbound/with-deadline.ts'
import type { ContentAnswer, DocumentAnswer } from './copied-document.ts'

export interface ConsumerClientOptions {
  readonly server: string
  readonly key: string
  readonly aborted: AbortSignal
  /** Called with a line of text when the server is unavailable or overloaded, and when it answers again. */
  readonly report: (line: string) => void
}

export class RefusedByServer extends Error {
  readonly status: number
  readonly code: string
  /** The wait that the server asked for. */
  readonly retryAfterMs: number | null
  constructor(status: number, code: string, message: string, retryAfterMs: number | null) {
    super(message)
    this.name = 'Refused'
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
  }

  /** Whether a retry may help. */
  get isTransient(): boolean {
    return this.status === 429 || this.status >= 500
  }
}

export interface Account {
  readonly application_id: string
  readonly entitlements: readonly Readonly<Record<string, unknown>>[]
}

export interface ChangePage {
  readonly items: readonly { readonly document_id: string; readonly ingested_at: string }[]
  readonly next_cursor: string
}

export interface FoundDocuments {
  readonly documents: readonly (DocumentAnswer & { readonly content: ContentAnswer | null })[]
  readonly missing: readonly string[]
}

export type ExportLine =
  | { readonly type: 'start'; readonly changes_cursor: string }
  | { readonly type: 'document'; readonly document: DocumentAnswer; readonly content: ContentAnswer | null }
  | { readonly type: 'checkpoint'; readonly cursor: string }
  | { readonly type: 'end'; readonly documents: number; readonly changes_cursor: string }
  | { readonly type: 'error'; readonly code: string; readonly message: string }

const pauses = { firstMs: 500, maxMs: 30_000 }
/**
 * The time limit for a whole response. The server may hold a page of the feed for 30 s, and large texts take a while.
 */
const answersWithinMs = 300_000
/** Ids per batch-get, and events per page. */
export const pageMax = 200

const eventTypes = 'document.created,document.version.created,document.metrics.updated,document.updated,document.erased'

/** A client of the public consumer API. */
export class ConsumerClient {
  readonly #server: string
  readonly #key: string
  readonly #aborted: AbortSignal
  readonly #report: (line: string) => void
  /** Failed attempts since the last received data. */
  #failures = 0

  constructor({ server, key, aborted, report }: ConsumerClientOptions) {
    this.#server = server
    this.#key = key
    this.#aborted = aborted
    this.#report = report
  }

  account(): Promise<Account> {
    return this.#json('/v1/account')
  }

  changes(cursor: string, waitSeconds: number): Promise<ChangePage> {
    const query = { event_type: eventTypes, limit: String(pageMax), wait: String(waitSeconds), cursor }
    return this.#json(`/v1/changes?${new URLSearchParams(query)}`)
  }

  /** Returns at most as many documents as a page has events. */
  async documents(ids: readonly string[]): Promise<FoundDocuments> {
    if (ids.length === 0) return { documents: [], missing: [] }
    return this.#json('/v1/documents/batch-get', { document_ids: ids })
  }

  /** The approximate number of documents, for a progress bar; null if the request fails. It is not retried. */
  async documentCount(): Promise<number | null> {
    try {
      const response = await this.#send('/v1/values/dataset?limit=100', undefined, AbortSignal.timeout(5000))
      if (!response.ok) return null
      const { values } = (await response.json()) as { values: readonly { readonly count: number }[] }
      return values.reduce((sum, { count }) => sum + count, 0)
    } catch {
      this.#aborted.throwIfAborted()
      return null
    }
  }

  /**
   * Reads an export to its end. If the connection breaks, the export continues from the last checkpoint, and documents
   * after the checkpoint are repeated.
   */
  async *export(from: string | null): AsyncGenerator<ExportLine> {
    let cursor = from
    for (;;) {
      const query = cursor === null ? '' : `?${new URLSearchParams({ cursor })}`
      try {
        for await (const text of linesOf(await this.#open(`/v1/export${query}`, undefined, this.#aborted))) {
          const line = JSON.parse(text) as ExportLine
          if (line.type === 'error') throw new Error(`${line.code}: ${line.message}`)
          if (line.type === 'checkpoint') cursor = line.cursor
          if (line.type !== 'start') this.#answered()
          yield line
          if (line.type === 'end') return
        }
        throw new Error('the export broke off')
      } catch (error) {
        await this.#pauseAfter(error)
      }
    }
  }

  async #json<T>(path: string, body?: object): Promise<T> {
    for (;;) {
      try {
        return await withDeadline(answersWithinMs, this.#aborted, async (signal) => {
          const answer = (await (await this.#open(path, body, signal)).json()) as T
          this.#answered()
          return answer
        })
      } catch (error) {
        await this.#pauseAfter(error)
      }
    }
  }

  async #open(path: string, body: object | undefined, signal: AbortSignal): Promise<Response> {
    const response = await this.#send(path, body, signal)
    if (!response.ok) throw await refusalOf(response)
    return response
  }

  #send(path: string, body: object | undefined, signal: AbortSignal): Promise<Response> {
    return fetch(new URL(path, this.#server), {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      // Redirects are not followed: the body and the key go to the named server and nowhere else.
      redirect: 'error',
      signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  /** Waits before a retry. Throws the error if a retry cannot succeed. */
  async #pauseAfter(error: unknown): Promise<void> {
    this.#aborted.throwIfAborted()
    const refusal = error instanceof RefusedByServer ? error : null
    if (refusal !== null && !refusal.isTransient) throw refusal
    const pauseMs = retryDelay(++this.#failures, pauses, refusal?.retryAfterMs ?? null)
    this.#report(`${this.#server}: ${troubleOf(error)}; retrying in ${Math.ceil(pauseMs / 1000)} s`)
    await sleep(pauseMs, undefined, { signal: this.#aborted })
  }

  #answered(): void {
    if (this.#failures > 0) this.#report(`${this.#server} answers again`)
    this.#failures = 0
  }
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  const pieces: string[] = []
  const decoder = new TextDecoder()
  for await (const bytes of response.body!) {
    const [first, ...others] = decoder.decode(bytes, { stream: true }).split('\n')
    pieces.push(first!)
    for (const next of others) {
      yield pieces.join('')
      pieces.length = 0
      pieces.push(next)
    }
  }
}

async function refusalOf(response: Response): Promise<RefusedByServer> {
  const { status, statusText } = response
  const retryAfterMs = parseRetryAfter(response.headers.get('retry-after'))
  const body = await response.json().catch(() => null)
  // A proxy may send an error page instead of JSON.
  const { code = status, message = statusText } = (body ?? {}) as Readonly<Record<string, unknown>>
  return new RefusedByServer(status, String(code), String(message), retryAfterMs)
}

/** Describes a failed connection only by the system's error code. */
function troubleOf(error: unknown): string {
  if (error instanceof RefusedByServer) return `${error.status} ${error.code}: ${error.message}`
  const { cause, message } = error as Error
  const code = (cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : message
}
