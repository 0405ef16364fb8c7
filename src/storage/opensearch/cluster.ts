import { stringify } from 'node:querystring'
import { UnavailableError } from '../../platform/errors.ts'
import { AvailableNodes } from './available-nodes.ts'
import { type NodeAnswer as Answer, ClusterNode, type NodeExchange, type NodeRequest } from './cluster-node.ts'

export interface ClusterOptions {
  /** The addresses of all nodes; each may contain a user and a password. */
  readonly nodes: readonly string[]
  /** Sent as `Authorization: ApiKey …`; null for none. */
  readonly apiKey?: string | null
  /** A node that does not answer a ping within this time counts as lost. */
  readonly silentAfterMs?: number
}

export interface ClusterCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: object
  /** The lines of a bulk request, JSON each, instead of a body. */
  readonly lines?: readonly string[]
  /** The call can be repeated safely, so it is sent to another node if one does not answer. */
  readonly idempotent: boolean
  readonly timeoutMs: number
}

/** A call exceeded its time limit. Its outcome is unknown. */
export class ClusterTimeout extends UnavailableError {}

/** A node answers neither a call nor pings. Another node may answer. */
class SilentNode extends ClusterTimeout {}

/** The cluster refused a call, or could not be reached. `message` contains no secret, query or text. */
export class ClusterError extends UnavailableError {
  /** 0 if there was no answer. */
  readonly status: number
  /** The cluster's name for the error. */
  readonly type: string

  constructor(message: string, status: number, type: string) {
    super(message)
    this.status = status
    this.type = type
  }
}

/**
 * Whether the error may pass by itself: no node could be reached, or none could handle the call now. A rejected
 * certificate, password or call is not transient.
 */
export function isTransient(error: unknown): error is ClusterTimeout | ClusterError {
  if (error instanceof ClusterTimeout) return true
  if (!(error instanceof ClusterError)) return false
  return error.status === 0 ? error.type !== untrusted : error.status === 429 || error.status >= 500
}

/** The error type of a node whose certificate is not trusted, or that does not use TLS. */
const untrusted = 'untrusted'
const aboutTrust = /certificate|altnames|wrong version number|packet length too long/i

/** The interval of pings to a node that has not answered a call yet. */
const pingEveryMs = 2000
const silentAfterMs = 5000

/** The fewest retries of an idempotent call if a node is lost or unable. There is at least one retry for each node. */
const retriesMin = 2

/**
 * The nodes of an OpenSearch cluster. A lost node is excluded for a while. Every failure is a `ClusterTimeout` or a
 * `ClusterError`.
 *
 * A network can fail silently, so a node that does not answer a call is pinged on another connection. If it answers the
 * ping, it is just slow. Otherwise the call ends before its time limit, and an idempotent call goes to another node.
 */
export class Cluster {
  readonly #options: ClusterOptions
  readonly #retries: number
  readonly #silentAfterMs: number
  #opened: Promise<AvailableNodes<ClusterNode>> | null = null
  /** The addresses without users and passwords. */
  readonly name: string

  constructor(options: ClusterOptions) {
    this.#options = options
    this.#silentAfterMs = options.silentAfterMs ?? silentAfterMs
    this.#retries = Math.max(retriesMin, options.nodes.length)
    this.name = options.nodes.map((node) => new URL(node).host).join(', ')
  }

  async call<Body>(call: ClusterCall): Promise<Body> {
    const deadline = performance.now() + call.timeoutMs
    const request = requestOf(call)
    let retries = call.idempotent ? this.#retries : 0
    this.#opened ??= this.#open()
    const nodes = await this.#opened
    for (;;) {
      const timeoutMs = deadline - performance.now()
      if (timeoutMs <= 0) throw new ClusterTimeout(late)
      const node = nodes.next()
      try {
        const answer = await this.#answerOf(node, node.send(request), timeoutMs, () => nodes.markLost(node))
        if (wasHandled(answer)) nodes.markAvailable(node)
        else nodes.markLost(node)
        if (wasHandled(answer) || retries-- === 0) return this.#read(answer) as Body
      } catch (error) {
        if (error instanceof UnavailableError) {
          if (!(error instanceof SilentNode && call.idempotent)) throw error
        } else {
          nodes.markLost(node)
          if (retries-- === 0) throw this.#unreachable(error as Error)
        }
      }
    }
  }

  /** Rejects with a `ClusterTimeout`, or with the error of the exchange. */
  async #answerOf(node: ClusterNode, exchange: NodeExchange, timeoutMs: number, onLost: () => void): Promise<Answer> {
    let ended: ClusterTimeout | null = null
    const end = (why: ClusterTimeout): void => {
      ended ??= why
      exchange.abort()
    }
    const checkNode = async (): Promise<void> => {
      if ((await this.#ping(node)) !== null) return
      onLost()
      end(new SilentNode(late))
    }
    const limit = setTimeout(() => {
      end(new ClusterTimeout(late))
      void checkNode()
    }, timeoutMs)
    const checking = setInterval(checkNode, pingEveryMs)
    try {
      return await exchange.answered
    } catch (error) {
      throw ended ?? error
    } finally {
      clearTimeout(limit)
      clearInterval(checking)
    }
  }

  async #open(): Promise<AvailableNodes<ClusterNode>> {
    const { nodes, apiKey = null } = this.#options
    const opened = await Promise.all(nodes.map((node) => ClusterNode.open(node, apiKey)))
    return new AvailableNodes(opened, async (node) => wasHandled(await this.#ping(node)))
  }

  /** Returns null if the node does not answer at all. */
  async #ping(node: ClusterNode): Promise<Answer | null> {
    const exchange = node.send({ method: 'HEAD', path: '/', body: '', contentType: 'application/json' })
    const limit = setTimeout(() => exchange.abort(), this.#silentAfterMs)
    try {
      return await exchange.answered
    } catch {
      return null
    } finally {
      clearTimeout(limit)
    }
  }

  #read({ status, text }: Answer): unknown {
    const body = parsed(text)
    if (status >= 400) {
      const reported = (body as { error?: { type?: unknown } } | null | undefined)?.error
      const type = typeof reported?.type === 'string' ? reported.type : 'no_reason'
      const advice = status === 401 || status === 403 ? refusals[status] : ''
      throw new ClusterError(`OpenSearch at ${this.name} answered ${status} ${type}${advice}`, status, type)
    }
    if (body === undefined) {
      throw new ClusterError(
        `OpenSearch at ${this.name} answered ${status} with something other than JSON`,
        0,
        'no_json',
      )
    }
    return body
  }

  /** Errors of the network and of TLS contain no user and no password. */
  #unreachable(error: Error): ClusterError {
    const { code } = error as { readonly code?: unknown }
    const reason = error.message === '' ? String(code) : error.message.split('\n', 1)[0]!.slice(0, 300)
    return aboutTrust.test(reason)
      ? new ClusterError(`OpenSearch at ${this.name} is not trusted: ${reason}; ${trustAdvice}`, 0, untrusted)
      : new ClusterError(`OpenSearch at ${this.name} cannot be reached: ${reason}`, 0, String(code ?? error.name))
  }
}

/** Builds the request once for all nodes. */
function requestOf({ method, path, query, body, lines }: ClusterCall): NodeRequest {
  return {
    method,
    path: query === undefined ? path : `${path}?${queryString(query)}`,
    body: lines === undefined ? (body === undefined ? '' : JSON.stringify(body)) : `${lines.join('\n')}\n`,
    contentType: lines === undefined ? 'application/json' : 'application/x-ndjson',
  }
}

type CallQuery = NonNullable<ClusterCall['query']>

/** Query strings by their objects, because searches pass the same object each time. */
const queryStrings = new WeakMap<CallQuery, string>()
function queryString(query: CallQuery): string {
  let text = queryStrings.get(query)
  if (text === undefined) {
    text = stringify(query)
    queryStrings.set(query, text)
  }
  return text
}

/** Whether the node, or the proxy in front of it, was able to handle the call. If not, another node may be. */
const wasHandled = (answer: Answer | null): boolean => answer !== null && ![502, 503, 504].includes(answer.status)

/** Undefined for text that is not JSON, which a proxy may return. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const late = 'the cluster did not answer in time'
const refusals = {
  401: ': check the user and password in TIDEMARK_SEARCH_URL, or TIDEMARK_SEARCH_KEY',
  403: ': check the permissions of the user or key, and run tidemark doctor to see whether the index is blocked',
}
const trustAdvice =
  'check the addresses in TIDEMARK_SEARCH_URL, and set NODE_EXTRA_CA_CERTS if you use your own certificate authority'
