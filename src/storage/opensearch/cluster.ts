import { stringify } from 'node:querystring'
import { UnavailableError } from '../../platform/errors.ts'
import { AvailableNodes } from './available-nodes.ts'
import { type NodeAnswer as Answer, ClusterNode, type NodeExchange, type NodeRequest } from './cluster-node.ts'

export interface ClusterOptions {
  /** The addresses of all nodes; each may contain a user and a password. */
  readonly nodes: readonly string[]
  /** Sent as `Authorization: ApiKey …`; null for none. */
  readonly apiKey?: string | null
  /** A node that does not answer a ping for so long counts as lost. */
  readonly silentAfterMs?: number
}

export interface ClusterCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: object
  /** The lines of a bulk request, JSON each, instead of a body. */
  readonly lines?: readonly string[]
  /** The call can be repeated safely: it may be sent to another node if one does not answer. */
  readonly harmless: boolean
  readonly timeoutMs: number
}

/** The time limit of a call has passed: the outcome of the call is unknown. */
export class ClusterTimeout extends UnavailableError {}

/** A node kept a call waiting and does not answer pings: another node may answer. */
class SilentNode extends ClusterTimeout {}

/** The cluster refused a call, or could not be reached. `message` contains no secret, query or text. */
export class ClusterTrouble extends UnavailableError {
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
 * Whether no node could be reached, or none could do it now: such errors pass. A certificate, a password or a call that
 * is refused does not.
 */
export function isAway(error: unknown): error is ClusterTimeout | ClusterTrouble {
  if (error instanceof ClusterTimeout) return true
  if (!(error instanceof ClusterTrouble)) return false
  return error.status === 0 ? error.type !== untrusted : error.status === 429 || error.status >= 500
}

/** The error type of a node that is not the expected one, or does not speak TLS. */
const untrusted = 'untrusted'
const aboutTrust = /certificate|altnames|wrong version number|packet length too long/i

/** How often a node that keeps a call waiting is pinged. */
const pingEveryMs = 2000
const silentAfterMs = 5000

/** How often a harmless call is sent again if a node is lost, or says that it cannot; at least once to each node. */
const retriesMin = 2

/**
 * The nodes of an OpenSearch cluster. A lost node is not used for a while; every failure is one of two errors.
 *
 * A network can break silently. So a node that keeps a call waiting is pinged on another connection. A node that
 * answers may just be slow; otherwise the call ends at once, before its time limit, and goes to another node if it is
 * harmless.
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
    let retries = call.harmless ? this.#retries : 0
    this.#opened ??= this.#open()
    const nodes = await this.#opened
    for (;;) {
      const timeoutMs = deadline - performance.now()
      if (timeoutMs <= 0) throw new ClusterTimeout(late)
      const node = nodes.next()
      try {
        const answer = await this.#answerOf(node, node.ask(request), timeoutMs, () => nodes.lost(node))
        if (isAble(answer)) nodes.found(node)
        else nodes.lost(node)
        if (isAble(answer) || retries-- === 0) return this.#read(answer) as Body
      } catch (error) {
        if (error instanceof UnavailableError) {
          if (!(error instanceof SilentNode && call.harmless)) throw error
        } else {
          nodes.lost(node)
          if (retries-- === 0) throw this.#unreachable(error as Error)
        }
      }
    }
  }

  /** Fails with `ClusterTimeout`, or with the error of the exchange. */
  async #answerOf(node: ClusterNode, asked: NodeExchange, timeoutMs: number, isLost: () => void): Promise<Answer> {
    let ended: ClusterTimeout | null = null
    const end = (why: ClusterTimeout): void => {
      ended ??= why
      asked.abort()
    }
    const look = async (): Promise<void> => {
      if ((await this.#ping(node)) !== null) return
      isLost()
      end(new SilentNode(late))
    }
    const limit = setTimeout(() => {
      end(new ClusterTimeout(late))
      void look()
    }, timeoutMs)
    const looking = setInterval(look, pingEveryMs)
    try {
      return await asked.answered
    } catch (error) {
      throw ended ?? error
    } finally {
      clearTimeout(limit)
      clearInterval(looking)
    }
  }

  async #open(): Promise<AvailableNodes<ClusterNode>> {
    const { nodes, apiKey = null } = this.#options
    const opened = await Promise.all(nodes.map((node) => ClusterNode.open(node, apiKey)))
    return new AvailableNodes(opened, async (node) => isAble(await this.#ping(node)))
  }

  /** Returns null if the node does not answer at all. */
  async #ping(node: ClusterNode): Promise<Answer | null> {
    const asked = node.ask({ method: 'HEAD', path: '/', body: '', contentType: 'application/json' })
    const limit = setTimeout(() => asked.abort(), this.#silentAfterMs)
    try {
      return await asked.answered
    } catch {
      return null
    } finally {
      clearTimeout(limit)
    }
  }

  #read({ status, text }: Answer): unknown {
    const body = parsed(text)
    if (status >= 400) {
      const said = (body as { error?: { type?: unknown } } | null | undefined)?.error
      const type = typeof said?.type === 'string' ? said.type : 'no_reason'
      const advice = status === 401 || status === 403 ? refusals[status] : ''
      throw new ClusterTrouble(`OpenSearch at ${this.name} answered ${status} ${type}${advice}`, status, type)
    }
    if (body === undefined) {
      throw new ClusterTrouble(`OpenSearch at ${this.name} answered ${status} with what is no JSON`, 0, 'no_json')
    }
    return body
  }

  /** Errors of the network and of TLS contain no user and no password. */
  #unreachable(error: Error): ClusterTrouble {
    const { code } = error as { readonly code?: unknown }
    const reason = error.message === '' ? String(code) : error.message.split('\n', 1)[0]!.slice(0, 300)
    return aboutTrust.test(reason)
      ? new ClusterTrouble(`OpenSearch at ${this.name} is not trusted: ${reason}; ${trustAdvice}`, 0, untrusted)
      : new ClusterTrouble(`OpenSearch at ${this.name} cannot be reached: ${reason}`, 0, String(code ?? error.name))
  }
}

/** Built once for all nodes that it may be sent to. */
function requestOf({ method, path, query, body, lines }: ClusterCall): NodeRequest {
  return {
    method,
    path: query === undefined ? path : `${path}?${written(query)}`,
    body: lines === undefined ? (body === undefined ? '' : JSON.stringify(body)) : `${lines.join('\n')}\n`,
    contentType: lines === undefined ? 'application/json' : 'application/x-ndjson',
  }
}

type CallQuery = NonNullable<ClusterCall['query']>

/** Searches have the same query object each time. */
const writtenQueries = new WeakMap<CallQuery, string>()
function written(query: CallQuery): string {
  let text = writtenQueries.get(query)
  if (text === undefined) {
    text = stringify(query)
    writtenQueries.set(query, text)
  }
  return text
}

/** Whether a node, or a proxy before it, can handle the call now; otherwise another node may. */
const isAble = (answer: Answer | null): boolean => answer !== null && ![502, 503, 504].includes(answer.status)

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
  401: ': see the user and password of TIDEMARK_SEARCH_URL, or TIDEMARK_SEARCH_KEY',
  403: ': see what its user or key may do, and whether the index is blocked (tidemark doctor says so)',
}
const trustAdvice = 'see the addresses of TIDEMARK_SEARCH_URL, and name your own authority by NODE_EXTRA_CA_CERTS'
