import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../access/principal.ts'
import { abortSignalOf } from './route.ts'

/**
 * Requests that a route makes of other routes of this process, for whoever asked it. They go the whole way but for the
 * beginning: who asks is known, and rate, place and permit were taken for the request that they are part of. Schemas,
 * entitlements, quotas, counters and the log are those of every request.
 */
interface Asked {
  readonly principal: Principal
  readonly signal: AbortSignal
}

// Nothing that is sent could stand for this: a request from outside is never within another one.
const within = new AsyncLocalStorage<Asked>()

/** Of a request that another one makes; undefined for one from outside. */
export const askedWithin = (): Asked | undefined => within.getStore()

export interface OwnRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface OwnAnswer {
  readonly status: number
  readonly retryAfterSeconds: number | null
  readonly bytes: Buffer
}

/** Ends with the request that it is part of: what it had begun is dropped when the client goes away. */
export function askOwnRoutes(request: FastifyRequest, reply: FastifyReply): (asked: OwnRequest) => Promise<OwnAnswer> {
  const signal = abortSignalOf(reply)
  return async ({ method, path, query, body, headers }) => {
    const answer = await within.run(
      { principal: request.principal!, signal },
      async () =>
        // Awaited in here: it does not begin before.
        await request.server.inject({
          method,
          url: path,
          remoteAddress: request.ip,
          headers: { ...headers, 'x-request-id': request.id },
          ...(query === undefined ? {} : { query: { ...query } }),
          ...(body === undefined ? {} : { payload: body }),
        }),
    )
    const wait = answer.headers['retry-after']
    return {
      status: answer.statusCode,
      retryAfterSeconds: wait === undefined ? null : Number(wait),
      bytes: answer.rawPayload,
    }
  }
}
