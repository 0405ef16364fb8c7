import type { Attempt, Client, Connection } from '@opensearch-project/opensearch'
import { UnavailableError } from '../../errors.ts'

export interface ClusterOptions {
  /** Of every node to speak to; a user and a password may stand in each. */
  readonly nodes: readonly string[]
  /** Sent as `Authorization: ApiKey …`; null for none. */
  readonly apiKey?: string | null
  /** A node that does not even say that it is there for so long is gone. */
  readonly silentAfterMs?: number
}

export interface ClusterCall {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: object
  /** Of a bulk request, in place of a body: JSON each. */
  readonly lines?: readonly string[]
  /** Nothing happens twice by it: it may be sent to another node where one does not answer. */
  readonly harmless: boolean
  readonly timeoutMs: number
}

/** The time that a call was given ran out: what it did is not known. */
export class ClusterTimeout extends UnavailableError {}

/** A node kept a call waiting, and is not there: another one may be. */
class SilentNode extends ClusterTimeout {}

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

/** A node that keeps a call waiting is asked so often whether it is there at all. */
const pingEveryMs = 2000
const silentAfterMs = 5000

/**
 * The nodes of an OpenSearch cluster. Who is gone is not asked for a while; whatever goes wrong is one of two errors.
 *
 * A network can be cut without a word. So a node that keeps a call waiting is asked beside it whether it is there: one that
 * is may be slow; where it is not, the call ends then and not with its time, and goes to another node if it is harmless.
 */
export class Cluster {
  readonly #options: ClusterOptions
  #client: Promise<Client> | null = null
  /** Without users and passwords. */
  readonly name: string

  constructor(options: ClusterOptions) {
    this.#options = options
    this.name = options.nodes.map((node) => new URL(node).host).join(', ')
  }

  async call<Answer>(call: ClusterCall): Promise<Answer> {
    const deadline = performance.now() + call.timeoutMs
    for (;;) {
      try {
        return await this.#ask<Answer>({ ...call, timeoutMs: deadline - performance.now() })
      } catch (error) {
        if (!(error instanceof SilentNode && call.harmless)) throw error
      }
    }
  }

  async #ask<Answer>({ method, path, query, body, lines, harmless, timeoutMs }: ClusterCall): Promise<Answer> {
    if (timeoutMs <= 0) throw new ClusterTimeout(late)
    const client = await this.#open()
    const request = {
      method,
      path,
      ...(query === undefined ? {} : { querystring: query }),
      ...(body === undefined ? {} : { body }),
      ...(lines === undefined ? {} : { bulkBody: lines }),
    }
    const attempt: Attempt = { connection: null }
    const asked = client.transport.request(request, {
      requestTimeout: Math.ceil(timeoutMs),
      ...(harmless ? {} : { maxRetries: 0 }),
      context: attempt,
    })
    let ended: ClusterTimeout | null = null
    const end = (why: ClusterTimeout): void => {
      ended ??= why
      asked.abort()
    }
    const look = (): void => {
      const { connection } = attempt
      this.#lookFor(client, connection, () => {
        // It may have gone on to another node meanwhile.
        if (attempt.connection === connection) end(new SilentNode(late))
      })
    }
    // Attempts have the time each: together they have it once.
    const limit = setTimeout(() => {
      end(new ClusterTimeout(late))
      look()
    }, timeoutMs)
    const looking = setInterval(look, pingEveryMs)
    try {
      return (await asked).body as Answer
    } catch (error) {
      throw ended ?? (await this.#trouble(error))
    } finally {
      clearTimeout(limit)
      clearInterval(looking)
    }
  }

  /** One that is not there is not asked again for a while. */
  #lookFor(client: Client, connection: Connection | null, gone: () => void): void {
    const timeout = this.#options.silentAfterMs ?? silentAfterMs
    connection?.request({ method: 'HEAD', path: '/', timeout }, (error, answer) => {
      answer?.resume()
      if (error === null) return
      client.connectionPool.markDead(connection)
      gone()
    })
  }

  /** The library is loaded for the first call: who has the index elsewhere does without it. */
  #open(): Promise<Client> {
    this.#client ??= import('@opensearch-project/opensearch').then(({ Client }) => {
      const { nodes, apiKey = null } = this.#options
      const headers = apiKey === null ? {} : { headers: { authorization: `ApiKey ${apiKey}` } }
      const client = new Client({
        nodes,
        maxRetries: Math.max(2, nodes.length),
        // It looks through every answer for names that could do harm where objects are merged: nobody merges these.
        disablePrototypePoisoningProtection: true,
        ...headers,
      })
      client.on('request', (_, { meta }) => Object.assign(meta.context, { connection: meta.connection }))
      return client
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
      // Of the network or of TLS there is no user and no password in it; of an answer that is none there may be a text.
      const isAnswer = error.name === 'DeserializationError' || error.message === ''
      const reason = isAnswer ? error.name : error.message.split('\n', 1)[0]!.slice(0, 300)
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
