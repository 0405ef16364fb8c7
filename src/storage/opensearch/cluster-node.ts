import type { Dispatcher, Pool } from 'undici'

export interface NodeRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD'
  /** With its query, all that needs it escaped. */
  readonly path: string
  /** Empty for none. */
  readonly body: string
  readonly contentType: 'application/json' | 'application/x-ndjson'
}

export interface NodeAnswer {
  readonly status: number
  readonly text: string
}

/** A request under way. */
export interface NodeExchange {
  /** Rejects where there is no answer, with what the network, TLS or the reader of HTTP says. */
  readonly answered: Promise<NodeAnswer>
  /** Ends it, and its connection with it. */
  abort(): void
}

/** What comes beyond waits for one of these. */
const connectionsMax = 256

/** A connection that nobody used for so long is closed by us, before somebody on the way forgets it. */
const idleMs = 30_000

/**
 * One node of the cluster, by connections that are kept open. An exchange takes this process less by `undici` than by
 * `node:http`, and by a client's library on top of that: a search waits for two or three of them in a row.
 */
export class ClusterNode {
  readonly #pool: Pool
  readonly #folder: string
  /** Names and values by turns. */
  readonly #headers: readonly string[]

  private constructor(pool: Pool, folder: string, headers: readonly string[]) {
    this.#pool = pool
    this.#folder = folder
    this.#headers = headers
  }

  /** Without an API key, a user and a password may stand in the address. */
  static async open(address: string, apiKey: string | null): Promise<ClusterNode> {
    // Loaded for the first call: who has the index elsewhere does without it.
    const { Pool } = await import('undici')
    const url = new URL(address)
    const pool = new Pool(url.origin, {
      allowH2: false,
      connections: connectionsMax,
      keepAliveTimeout: idleMs,
      // Who asks has a time limit for all of it.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const authorization = apiKey === null ? basicOf(url) : `ApiKey ${apiKey}`
    const credential = authorization === null ? [] : ['authorization', authorization]
    return new ClusterNode(pool, url.pathname.replace(/\/$/, ''), [...credential, 'accept', 'application/json'])
  }

  ask({ method, path, body, contentType }: NodeRequest): NodeExchange {
    const exchange = new Exchange()
    const hasBody = body !== ''
    const headers = hasBody ? [...this.#headers, 'content-type', contentType] : [...this.#headers]
    this.#pool.dispatch({ method, path: `${this.#folder}${path}`, headers, body: hasBody ? body : null }, exchange)
    return exchange
  }
}

class Exchange implements NodeExchange, Dispatcher.DispatchHandler {
  readonly answered: Promise<NodeAnswer>
  readonly #resolve: (answer: NodeAnswer) => void
  readonly #reject: (error: Error) => void
  readonly #parts: Buffer[] = []
  #controller: Dispatcher.DispatchController | null = null
  #status = 0
  #givenUp: Error | null = null

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<NodeAnswer>()
    this.answered = promise
    this.#resolve = resolve
    this.#reject = reject
  }

  /** Where there is no connection yet there is nothing to end, and nothing is sent once there is. */
  abort(): void {
    this.#givenUp = new Error('it was given up')
    this.#reject(this.#givenUp)
    this.#controller?.abort(this.#givenUp)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#givenUp !== null) controller.abort(this.#givenUp)
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number): void {
    this.#status = status
  }

  onResponseData(_controller: Dispatcher.DispatchController, part: Buffer): void {
    this.#parts.push(part)
  }

  onResponseEnd(): void {
    // The connection is somebody else's from now on.
    this.#controller = null
    const whole = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
    this.#resolve({ status: this.#status, text: whole.toString() })
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#controller = null
    this.#reject(error)
  }
}

function basicOf({ username, password }: URL): string | null {
  if (username === '' && password === '') return null
  return `Basic ${Buffer.from(`${unescaped(username)}:${unescaped(password)}`).toString('base64')}`
}

/** A sign of percent that escapes nothing is meant as it is. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
