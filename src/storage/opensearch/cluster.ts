import type { Client, OpenSearchClientError as ClientError, Connection } from '@opensearch-project/opensearch'
import { UnavailableError } from '../../errors.ts'

export interface ClusterOptions {
  /** Of every node to speak to; a user and a password may stand in each. */
  readonly nodes: readonly string[]
  /** Sent as `Authorization: ApiKey …`; null for none. */
  readonly apiKey?: string | null
}

export interface ClusterCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: object
  /** Of a bulk request, in place of a body. */
  readonly lines?: readonly object[]
  /** Nothing happens twice by it: it may be sent to another node where one does not answer. */
  readonly harmless: boolean
  readonly timeoutMs: number
}

/** The time that a call was given ran out: what it did is not known. */
export class ClusterTimeout extends UnavailableError {}

/** The cluster refused a call, or was not there. `message` names no secret, no query and no text. */
export class ClusterTrouble extends UnavailableError {
  /** 0 where there was no answer. */
  readonly status: number
  /** What the cluster calls it. */
  readonly type: string

  constructor(message: string, status: number, type: string) {
    super(message)
    this.status = status
    this.type = type
  }
}

/**
 * Nobody was there, or nobody who could do it now: that changes by itself. A certificate, a password or a call that is refused
 * does not.
 */
export function isAway(error: unknown): error is ClusterTimeout | ClusterTrouble {
  if (error instanceof ClusterTimeout) return true
  if (!(error instanceof ClusterTrouble)) return false
  return error.status === 0 ? error.type !== untrusted : error.status === 429 || error.status >= 500
}

/** The type of the trouble of a node that is not the one it is taken for, or does not speak TLS. */
const untrusted = 'untrusted'
const aboutTrust = /certificate|altnames|wrong version number|packet length too long/i

/** A node that kept a call waiting is asked whether it is there at all, for so long. */
const pingMs = 2000

/** The nodes of an OpenSearch cluster. Who is gone is not asked for a while; whatever goes wrong is one of two errors. */
export class Cluster {
  readonly #options: ClusterOptions
  #client: Promise<Client> | null = null
  /** Without users and passwords. */
  readonly name: string

  constructor(options: ClusterOptions) {
    this.#options = options
    this.name = options.nodes.map((node) => new URL(node).host).join(', ')
  }

  async call<Answer>({ method, path, query, body, lines, harmless, timeoutMs }: ClusterCall): Promise<Answer> {
    if (timeoutMs <= 0) throw new ClusterTimeout('no time was left')
    const client = await this.#open()
    const request = {
      method,
      path,
      ...(query === undefined ? {} : { querystring: query }),
      ...(body === undefined ? {} : { body }),
      ...(lines === undefined ? {} : { bulkBody: lines }),
    }
    const asked = client.transport.request(request, {
      requestTimeout: Math.ceil(timeoutMs),
      ...(harmless ? {} : { maxRetries: 0 }),
    })
    // Attempts have the time each: together they have it once.
    let isLate = false
    const limit = setTimeout(() => {
      isLate = true
      asked.abort()
    }, timeoutMs)
    try {
      return (await asked).body as Answer
    } catch (error) {
      if (isLate) {
        lookFor(client, (error as ClientError).meta?.meta.connection ?? null)
        throw new ClusterTimeout(late)
      }
      throw await this.#trouble(error)
    } finally {
      clearTimeout(limit)
    }
  }

  /** The library is loaded for the first call: who has the index elsewhere does without it. */
  #open(): Promise<Client> {
    this.#client ??= import('@opensearch-project/opensearch').then(({ Client }) => {
      const { nodes, apiKey = null } = this.#options
      const headers = apiKey === null ? {} : { headers: { authorization: `ApiKey ${apiKey}` } }
      return new Client({ nodes, maxRetries: Math.max(2, nodes.length), ...headers })
    })
    return this.#client
  }

  async #trouble(error: unknown): Promise<Error> {
    const { errors } = await import('@opensearch-project/opensearch')
    if (error instanceof errors.TimeoutError) return new ClusterTimeout(late)
    if (error instanceof errors.ResponseError) {
      const said = (error.body as { error?: { type?: unknown } } | undefined)?.error
      const type = typeof said?.type === 'string' ? said.type : 'no_reason'
      const status = error.statusCode ?? 0
      const advice = status === 401 || status === 403 ? refusals[status] : ''
      return new ClusterTrouble(`OpenSearch at ${this.name} answered ${status} ${type}${advice}`, status, type)
    }
    if (error instanceof errors.OpenSearchClientError) {
      // Of the network or of TLS: there is no user and no password in it.
      const reason = error.message === '' ? error.name : error.message.split('\n', 1)[0]!.slice(0, 300)
      return aboutTrust.test(reason)
        ? new ClusterTrouble(`OpenSearch at ${this.name} is not trusted: ${reason}; ${trustAdvice}`, 0, untrusted)
        : new ClusterTrouble(`OpenSearch at ${this.name} cannot be reached: ${reason}`, 0, error.name)
    }
    return error instanceof Error ? error : new Error(String(error))
  }
}

const late = 'the cluster did not answer in time'
const refusals = {
  401: ': see the user and password of TIDEMARK_SEARCH_URL, or TIDEMARK_SEARCH_KEY',
  403: ': see what its user or key may do, and whether the index is blocked (tidemark doctor says so)',
}
const trustAdvice = 'see the addresses of TIDEMARK_SEARCH_URL, and name your own authority by NODE_EXTRA_CA_CERTS'

/** One that does not answer that either is not asked again for a while: a network can be cut without a word. */
function lookFor(client: Client, connection: Connection | null): void {
  connection?.request({ method: 'HEAD', path: '/', timeout: pingMs }, (error, answer) => {
    if (error !== null) client.connectionPool.markDead(connection)
    answer?.resume()
  })
}
