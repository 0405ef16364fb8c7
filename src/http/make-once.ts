import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { Type } from 'typebox'
import type { AccessStore } from '../access/access-store.ts'
import { type Claim, claimKeyPattern, type KeptClaim, requestHashOf } from '../access/claim.ts'
import { kindOf } from '../access/credential-kinds.ts'
import { TidemarkError } from '../platform/errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Whether the answer shows an object that an earlier request with the same `Idempotency-Key` created. Such a
     * request is not counted as use.
     */
    isRepeat: boolean
    /**
     * Creates the requested object once for each `Idempotency-Key` of the caller (`access/claim.ts`). `make` passes the
     * claim to the store; `read` returns the object created before.
     */
    makeOnce<Made>(make: (claim: Claim | null) => Promise<Made>, read: (id: string) => Promise<Made>): Promise<Made>
  }
}

/** The headers of every POST that creates an object. */
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: claimKeyPattern,
      description:
        'Chosen by the caller, 1 to 255 printable characters. For 24 hours the same key with the same request creates nothing new and returns what was created; with a different request it is 422 `idempotency_key_reused`.',
    }),
  ),
})

type Described = Pick<RouteOptions, 'method' | 'schema'>

/** Returns whether the operation creates an object. An operation whose 201 or 202 has an empty body creates none. */
export function createsResource({ method, schema }: Described): boolean {
  const answers = (schema?.response ?? {}) as Readonly<Record<number, { readonly type?: string }>>
  return method === 'POST' && [answers[201], answers[202]].some((made) => made !== undefined && made.type !== 'null')
}

export function takesIdempotencyKey({ schema }: Described): boolean {
  const { properties } = (schema?.headers ?? {}) as { readonly properties?: object }
  return properties !== undefined && 'idempotency-key' in properties
}

export function takeIdempotencyKeys(app: FastifyInstance, store: Pick<AccessStore, 'findClaim'>): void {
  app.decorateRequest('isRepeat', false)
  app.decorateRequest('makeOnce', async function makeOnce<
    Made,
  >(this: FastifyRequest, make: (claim: Claim | null) => Promise<Made>, read: (id: string) => Promise<Made>) {
    const claim = claimOf(this)
    if (claim === null) return make(null)
    const earlier = await store.findClaim(claim, Date.now())
    if (earlier !== null) return repeated(this, claim, earlier, read)
    try {
      return await make(claim)
    } catch (error) {
      // The object exists if another request with the same key came first, or if only the store's answer was lost.
      const meanwhile = await store.findClaim(claim, Date.now()).catch(() => null)
      if (meanwhile === null) throw error
      return repeated(this, claim, meanwhile, read)
    }
  })
}

/**
 * For objects that show a secret when they are created. The secret is not stored, so it cannot be shown again. `ifLost`
 * says how to get another.
 */
export function shownOnce(what: string, ifLost: string): (id: string) => Promise<never> {
  return async (id) => {
    const message = `this Idempotency-Key has already created ${what} ${id}; its secret was shown once and is not stored: if it is lost, ${ifLost}`
    throw new TidemarkError('conflict', message, { details: [{ path: 'made', message: id }] })
  }
}

/** Returns null if the caller sent no key. */
function claimOf(request: FastifyRequest): Claim | null {
  const { principal, params, body, routeOptions } = request
  const key = request.headers['idempotency-key']
  if (typeof key !== 'string' || principal === null) return null
  const requestHash = requestHashOf([routeOptions.config.operation, params, body])
  return { caller: kindOf(principal).caller(principal), key, requestHash }
}

async function repeated<Made>(
  request: FastifyRequest,
  claim: Claim,
  kept: KeptClaim,
  read: (id: string) => Promise<Made>,
): Promise<Made> {
  request.isRepeat = true
  if (kept.requestHash !== claim.requestHash) {
    throw new TidemarkError(
      'idempotency_key_reused',
      'this Idempotency-Key was used with a different request: send a new key, or the same request',
    )
  }
  try {
    return await read(kept.madeId)
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.status !== 404) throw error
    const message = `${kept.madeId}, which this Idempotency-Key created, no longer exists: send a new key to create another`
    throw new TidemarkError('conflict', message, { cause: error })
  }
}
