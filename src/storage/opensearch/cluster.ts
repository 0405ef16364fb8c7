import type { Client } from '@opensearch-project/opensearch'
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
      if (isLate) throw new ClusterTimeout('the cluster did not answer in time')
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
    if (error instanceof errors.TimeoutError) return new ClusterTimeout('the cluster did not answer in time')
    if (error instanceof errors.ResponseError) {
      const said = (error.body as { error?: { type?: unknown } } | undefined)?.error
      const type = typeof said?.type === 'string' ? said.type : 'no_reason'
      return new ClusterTrouble(
        `OpenSearch at ${this.name} answered ${error.statusCode} ${type}`,
        error.statusCode ?? 0,
        type,
      )
    }
    if (error instanceof errors.OpenSearchClientError) {
      return new ClusterTrouble(`OpenSearch at ${this.name} cannot be reached (${error.name})`, 0, error.name)
    }
    return error instanceof Error ? error : new Error(String(error))
  }
}
