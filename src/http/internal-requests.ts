/**
 * Internal requests: requests that a route makes to other routes of this process, on behalf of its caller. They are not
 * authenticated again and take no rate token, slot or permit, because the outer request has these. Schemas,
 * entitlements, quotas, counters and the log apply as to every request.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../access/principal.ts'
import { abortSignalOf } from './route.ts'

interface OuterRequest {
  readonly principal: Principal
  readonly signal: AbortSignal
}

// A client cannot forge this, because its requests never run within another request.
const within = new AsyncLocalStorage<OuterRequest>()

/** Returns the request that made the current one; undefined if a client made the current one. */
export const outerRequest = (): OuterRequest | undefined => within.getStore()

export interface InternalRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

export interface InternalAnswer {
  readonly status: number
  readonly retryAfterSeconds: number | null
  readonly bytes: Buffer
}

/** Returns a function that makes internal requests. They are cancelled when the client of `request` disconnects. */
export function internalRequests(
  request: FastifyRequest,
  reply: FastifyReply,
): (request: InternalRequest) => Promise<InternalAnswer> {
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
