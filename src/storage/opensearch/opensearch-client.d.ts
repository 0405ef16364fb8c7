/**
 * What is used of the cluster's client. Its own types describe every call that there is, 4 MB of them, of which the
 * compiler would read all for the one that is made here.
 */
declare module '@opensearch-project/opensearch' {
  interface Request {
    readonly method: string
    readonly path: string
    readonly querystring?: Readonly<Record<string, string | number | boolean>>
    readonly body?: object
    /** JSON, each on a line of its own. */
    readonly bulkBody?: readonly string[]
  }

  interface RequestOptions {
    /** Of every attempt. */
    readonly requestTimeout: number
    readonly maxRetries?: number
    /** Comes back as it is with every event of the request. */
    readonly context: Attempt
  }

  /** What is noted of a request while it is under way. */
  interface Attempt {
    /** The node that is being asked. */
    readonly connection: Connection | null
  }

  interface Answering extends Promise<{ readonly body: unknown }> {
    abort(): void
  }

  interface ClientOptions {
    readonly nodes: readonly string[]
    readonly maxRetries: number
    readonly disablePrototypePoisoningProtection: true
    readonly headers?: Readonly<Record<string, string>>
  }

  class Client {
    constructor(options: ClientOptions)
    readonly transport: { request(request: Request, options: RequestOptions): Answering }
    /** A node is about to be asked. */
    on(
      event: 'request',
      heard: (
        error: null,
        about: { readonly meta: { readonly context: Attempt; readonly connection: Connection } },
      ) => void,
    ): void
    readonly connectionPool: { markDead(connection: Connection): void }
  }

  /** Of one node. */
  interface Connection {
    request(
      request: { readonly method: string; readonly path: string; readonly timeout: number },
      answered: (error: Error | null, answer: { resume(): void } | null) => void,
    ): void
  }

  class OpenSearchClientError extends Error {}
  class TimeoutError extends OpenSearchClientError {}
  class ResponseError extends OpenSearchClientError {
    readonly body: unknown
    readonly statusCode: number | undefined
  }
  const errors: {
    readonly OpenSearchClientError: typeof OpenSearchClientError
    readonly TimeoutError: typeof TimeoutError
    readonly ResponseError: typeof ResponseError
  }
}
