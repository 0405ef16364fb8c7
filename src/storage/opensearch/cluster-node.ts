import type { Dispatcher, Pool } from 'undici'

export interface NodeRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD'
  /** Escaped, with the query string. */
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

/** The most connections. Further requests wait for one of them. */
const connectionsMax = 256

/** An idle connection is closed after this time, before a proxy in between closes it. */
const idleMs = 30_000

/**
 * One node of the cluster, with keep-alive connections. `undici` needs less processor time than `node:http` or the
 * official client, and a search makes two or three requests in a row.
 */
export class ClusterNode {
  readonly #pool: Pool
  readonly #basePath: string
  /** Names and values alternate. */
  readonly #headers: readonly string[]

  private constructor(pool: Pool, basePath: string, headers: readonly string[]) {
    this.#pool = pool
    this.#basePath = basePath
    this.#headers = headers
  }

  /** Without an API key, the address may contain a user and a password. */
  static async open(address: string, apiKey: string | null): Promise<ClusterNode> {
    // Loaded on first use, because a process with the embedded index does not need it.
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

  send({ method, path, body, contentType }: NodeRequest): NodeExchange {
    const exchange = new Exchange()
    const hasBody = body !== ''
    const headers = hasBody ? [...this.#headers, 'content-type', contentType] : [...this.#headers]
    this.#pool.dispatch({ method, path: `${this.#basePath}${path}`, headers, body: hasBody ? body : null }, exchange)
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
  #abortError: Error | null = null

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<NodeAnswer>()
    this.answered = promise
    this.#resolve = resolve
    this.#reject = reject
  }

  /** If the request still waits for a connection, it is not sent. */
  abort(): void {
    this.#abortError = new Error('the request was aborted')
    this.#reject(this.#abortError)
    this.#controller?.abort(this.#abortError)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#abortError !== null) controller.abort(this.#abortError)
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

/** A percent sign that does not start an escape sequence is a literal. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
