import { setTimeout as sleep } from 'node:timers/promises'
import { postJson } from '../outbound/post-json.ts'
import { retryDelay } from '../outbound/retry-delay.ts'
import { pathSegment, pathSegmentRule } from '../platform/path-segment.ts'
import type { FeedDocument } from './parse-entries.ts'

export interface DocumentResult {
  readonly index: number
  readonly document_id?: string
  readonly outcome?: string
  readonly error?: { readonly code: string; readonly message: string }
}

export interface Task {
  readonly task_id: string
  readonly lease_id: string
  readonly platform: string
  readonly dataset_id: string
  readonly query: string
  readonly max_items: number
}

/** The server refused the request; trying again would not help. */
export class RefusedByServer extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'Refused'
    this.status = status
    this.code = code
  }
}

const requestTimeoutMs = 60_000
/** Enough for a result for each document of one request. */
const answerBytesMax = 32 * 1024 * 1024
const retrySteps = { firstMs: 250, maxMs: 10_000 }

export interface CollectorClientOptions {
  readonly server: string
  readonly key: string
  readonly aborted: AbortSignal
  /** How long to retry while the server is unavailable or overloaded. */
  readonly retryForMs: number
  /** Called when retrying begins. */
  readonly say: (line: string) => void
}

/** A client of the collector API. It uses nothing that a collector in another language could not use. */
export class CollectorClient {
  readonly #server: string
  readonly #key: string
  readonly #aborted: AbortSignal
  readonly #retryForMs: number
  readonly #say: (line: string) => void
  /** True after `say` was called, until the server answers again, so that an outage is reported once. */
  #isWaiting = false

  constructor({ server, key, aborted, retryForMs, say }: CollectorClientOptions) {
    this.#server = server
    this.#key = key
    this.#aborted = aborted
    this.#retryForMs = retryForMs
    this.#say = say
  }

  async sendDocuments(documents: readonly (FeedDocument & object)[]): Promise<readonly DocumentResult[]> {
    return (await this.#post('/collector/v1/documents', { documents })).results as DocumentResult[]
  }

  async lease(platform: string, leaseSeconds: number): Promise<readonly Task[]> {
    const request = { platforms: [platform], resource_kinds: ['content'], max: 1, lease_seconds: leaseSeconds }
    return (await this.#post('/collector/v1/tasks/lease', request)).tasks as Task[]
  }

  async deliver(task: Task, documents: readonly FeedDocument[]): Promise<readonly DocumentResult[]> {
    return (await this.#post(pathOf(task, 'documents'), { documents })).results as DocumentResult[]
  }

  async heartbeat(task: Task, leaseSeconds: number): Promise<void> {
    await this.#post(pathOf(task, 'heartbeat'), { lease_seconds: leaseSeconds })
  }

  async complete(task: Task, status: 'succeeded' | 'failed', error?: string): Promise<void> {
    await this.#post(pathOf(task, 'complete'), { status, ...(error === undefined ? {} : { error }) })
  }

  /** Sends a request, with retries. Every request of this API is idempotent. */
  async #post(path: string, body: unknown): Promise<Record<string, unknown>> {
    const until = Date.now() + this.#retryForMs
    for (let attempt = 1; ; attempt++) {
      const { problem, retryAfterMs, answer } = await this.#attempt(path, body)
      if (answer !== null) {
        this.#isWaiting = false
        return answer
      }
      const pauseMs = retryDelay(attempt, retrySteps, retryAfterMs)
      if (Date.now() + pauseMs > until) throw new Error(`${this.#server} does not answer: ${problem}`)
      if (!this.#isWaiting) {
        this.#say(`${this.#server} does not answer (${problem}): trying again for ${this.#retryForMs / 1000} s`)
      }
      this.#isWaiting = true
      await sleep(pauseMs, undefined, { signal: this.#aborted })
    }
  }

  async #attempt(path: string, body: unknown): Promise<Attempt> {
    const posted = await postJson(new URL(path, this.#server), body, {
      timeoutMs: requestTimeoutMs,
      answerBytesMax,
      headers: { authorization: `Bearer ${this.#key}` },
      signal: this.#aborted,
      readsRefusals: true,
    })
    this.#aborted.throwIfAborted()
    if (posted.outcome !== 'answered') {
      const problem = posted.outcome === 'unreachable' ? posted.code : problems[posted.outcome]
      return { problem, retryAfterMs: null, answer: null }
    }
    const { status, text, retryAfterMs } = posted
    if (status === 429 || status >= 500) return { problem: `HTTP ${status}`, retryAfterMs, answer: null }
    const answer = parseObject(text)
    if (status >= 300) {
      throw new RefusedByServer(status, String(answer.code ?? status), String(answer.message ?? `HTTP ${status}`))
    }
    return { problem: '', retryAfterMs, answer }
  }
}

interface Attempt {
  readonly problem: string
  readonly retryAfterMs: number | null
  readonly answer: Record<string, unknown> | null
}

const problems = {
  late: `no answer within ${requestTimeoutMs / 1000} seconds`,
  too_large: `an answer of more than ${answerBytesMax} bytes`,
  aborted: 'cancelled',
} as const

function pathOf({ task_id: taskId, lease_id }: Task, step: string): string {
  const segment = pathSegment(taskId)
  if (segment === null)
    throw new Error(`the server gave a task the ID ${JSON.stringify(taskId)}, which ${pathSegmentRule}`)
  return `/collector/v1/tasks/${segment}/${step}?${new URLSearchParams({ lease_id })}`
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
