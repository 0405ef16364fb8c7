import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { type AccessRequest, compileScope } from '../access/compile-scope.ts'
import { type CredentialKind, credentialKinds } from '../access/credential-kinds.ts'
import type { Operation } from '../access/operations.ts'
import type { Consumer, Principal, PrincipalOf } from '../access/principal.ts'
import type { Role } from '../access/roles.ts'
import type { Scope } from '../access/scope.ts'
import type { Caller } from '../fair-queue/caller.ts'
import { type ErrorCode, TidemarkError } from '../platform/errors.ts'
import { orNull } from '../platform/validation.ts'
import type { Admission } from './admission.ts'
import type { Exchange } from './connections.ts'
import type { Degradation } from './http-measures.ts'

/** The description of a route, in its `config`. The server refuses to start with a route that has none. */
export interface RouteConfig {
  readonly operation: Operation
  /** The code of a 400 in this area. */
  readonly invalid: ErrorCode
  /** The code of a 503 in this area. Default: `store_unavailable`. */
  readonly unavailable?: ErrorCode
  /** Further codes that the route's own work answers with, for OpenAPI. */
  readonly errors?: readonly ErrorCode[]
  /** Needs no credential. Every other route is below the paths of the credential that opens it. */
  readonly isPublic?: true
  /** The role an administrator needs. Set by every route of a credential that has roles, and by no other. */
  readonly role?: Role
  /** Also answers while the store is unavailable, to a credential that was accepted before. */
  readonly isMonitoring?: true
  /** Whether the body may also be NDJSON, which the handler then receives as a stream. */
  readonly lines?: boolean
  /** The body of an error, for a route whose protocol defines its own. Null means the usual body. */
  readonly errorBody?: (error: TidemarkError, request: FastifyRequest) => object | null
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by the server, from the path. Null means that none is needed. */
    credential?: CredentialKind | null
    isPublic?: true
    operation?: Operation
    invalid?: ErrorCode
    unavailable?: ErrorCode
    errors?: readonly ErrorCode[]
    lines?: boolean
    role?: Role
    isMonitoring?: true
    errorBody?: RouteConfig['errorBody']
  }
  interface FastifyRequest {
    exchange: Exchange
    principal: Principal | null
    admission: Admission | null
    /** Releases the permit of a request that only waits, so that long polls do not count as load. */
    releasePermit(): void
    /**
     * For long requests: rejects with a 401 if the credential is no longer valid. Otherwise gives `principal` its
     * current rights.
     */
    recheckCredential(): Promise<void>
    /**
     * Records that the answer is degraded: counts the warning, and logs the cause unless it is null. Once for each
     * cause and request.
     */
    degraded(warning: Degradation, cause: unknown): void
  }
}

export const consumerOf = (request: FastifyRequest): Consumer => principalOf(request, 'consumer')

/** Returns the principal of a credential of that kind. Every route below its paths has one. */
export function principalOf<Kind extends CredentialKind>({ principal }: FastifyRequest, kind: Kind): PrincipalOf<Kind> {
  if (principal?.kind === kind) return principal as PrincipalOf<Kind>
  throw new TidemarkError('unauthorized', `${credentialKinds[kind].name} is required`)
}

/**
 * Maps names in an access request to the names of fields in the client's request, where they differ. The key `author or
 * metadata` is for a request that needs one of the two.
 */
type RequestNames = Readonly<Record<string, string | undefined>>

/** Returns the scope of a consumer's request, or throws the 403. */
export function scopeOf(consumer: Consumer, request: AccessRequest, names: RequestNames = {}): Scope {
  const hidden = consumer.hiddenDatasets.length === 0 ? {} : { hidden: consumer.hiddenDatasets }
  const access = compileScope(consumer.entries, { ...hidden, ...request })
  if (access.allowed) return access.scope
  const { reason, missing = [] } = access
  const path = access.path === null ? names[missing.join(' or ')] : (names[access.path] ?? access.path)
  throw new TidemarkError(
    'entitlement_denied',
    reason,
    path === undefined ? {} : { details: [{ path, message: reason }] },
  )
}

/** A body that may be absent. The framework validates an absent body as null. */
export const optionalBody = <T extends TSchema>(schema: T) => orNull(schema)

/** Returns a signal that fires when the client disconnects before the answer. */
export function abortSignalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const onClose = (): void => {
    if (reply.raw.writableFinished) return
    controller.abort(new TidemarkError('client_closed_request', 'the client disconnected before it was answered'))
  }
  if (reply.raw.closed) onClose()
  else reply.raw.once('close', onClose)
  return controller.signal
}

/**
 * Returns the caller for queued work. All requests of an application have the same caller ID, and a disconnect cancels
 * the work.
 */
export function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  return { id: consumerOf(request).applicationId, signal: abortSignalOf(reply) }
}
