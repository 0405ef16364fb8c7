import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../access/principal.ts'
import { abortSignalOf } from './route.ts'

/**
 * Requests that a route makes to other routes of this process, on behalf of its caller. They take the usual way except
 * for its beginning: the caller is known already, and rate, slot and permit belong to the outer request. Schemas,
 * entitlements, quotas, counters and the log apply as to every request.
 */
interface OuterRequest {
  readonly principal: Principal
  readonly signal: AbortSignal
}

// No client can forge this: a request from outside never runs within another one.
const within = new AsyncLocalStorage<OuterRequest>()

/** The outer request of the current one; undefined for a request from outside. */
export const askedWithin = (): OuterRequest | undefined => within.getStore()

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

/** The inner requests end with the outer one: when the client disconnects, their work is cancelled. */
export function askOwnRoutes(
  request: FastifyRequest,
  reply: FastifyReply,
): (request: OwnRequest) => Promise<OwnAnswer> {
  const signal = abortSignalOf(reply)
  return async ({ method, path, query, body, headers }) => {
    const answer = await within.run(
      { principal: request.principal!, signal },
      async () =>
        // Awaited inside `run`, because `inject` starts only when it is awaited.
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
