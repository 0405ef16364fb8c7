import type { Dispatcher, Pool } from 'undici'

export interface NodeRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD'
  /** With its query, and escaped. */
  readonly path: string
  /** Empty for no body. */
  readonly body: string
  readonly contentType: 'application/json' | 'application/x-ndjson'
}

export interface NodeAnswer {
  readonly status: number
  readonly text: string
}

/** A request in progress. */
export interface NodeExchange {
  /** Rejects if there is no answer, with the error of the network, of TLS or of the HTTP parser. */
  readonly answered: Promise<NodeAnswer>
  /** Ends the request and closes its connection. */
  abort(): void
}

/** More requests wait for one of these connections. */
const connectionsMax = 256

/** An idle connection is closed after this time, before a proxy in between drops it. */
const idleMs = 30_000

/**
 * One node of the cluster, reached by keep-alive connections. `undici` takes less time of this process than `node:http`
 * or the official client, and a search waits for two or three exchanges in a row.
 */
export class ClusterNode {
  readonly #pool: Pool
  readonly #folder: string
  /** Names and values alternate. */
  readonly #headers: readonly string[]

  private constructor(pool: Pool, folder: string, headers: readonly string[]) {
    this.#pool = pool
    this.#folder = folder
    this.#headers = headers
  }

  /** Without an API key, the address may contain a user and a password. */
  static async open(address: string, apiKey: string | null): Promise<ClusterNode> {
    // Loaded on first use: a process with the embedded index does not need it.
    const { Pool } = await import('undici')
    const url = new URL(address)
    const pool = new Pool(url.origin, {
      allowH2: false,
      connections: connectionsMax,
      keepAliveTimeout: idleMs,
      // The caller has a time limit for the whole exchange.
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

  /** Without a connection there is nothing to close yet; the request is then not sent when there is one. */
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
    // The connection belongs to another request from now on.
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

/** A percent sign that escapes nothing is a literal. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
