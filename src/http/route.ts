import type { FastifyReply, FastifyRequest } from 'fastify'
import type { TSchema } from 'typebox'
import { type AccessRequest, compileScope } from '../access/compile-scope.ts'
import { type CredentialKind, credentialKinds } from '../access/credential-kinds.ts'
import type { Operation } from '../access/operations.ts'
import type { Consumer, Principal, PrincipalOf } from '../access/principal.ts'
import type { Role } from '../access/roles.ts'
import type { Scope } from '../access/scope.ts'
import { type ErrorCode, TidemarkError } from '../errors.ts'
import type { Caller } from '../turns/caller.ts'
import { orNull } from '../validation.ts'
import type { Admission } from './admission.ts'
import type { Exchange } from './connections.ts'
import type { Degradation } from './http-measures.ts'

/** What every route says of itself in its `config`. The server refuses to start with a route that does not. */
export interface RouteConfig {
  readonly operation: Operation
  /** The code of a 400 in this area. */
  readonly invalid: ErrorCode
  /** The code of a 503 in this area where it has one of its own; else it is `store_unavailable`. */
  readonly unavailable?: ErrorCode
  /** What else its own work answers with, for OpenAPI. */
  readonly errors?: readonly ErrorCode[]
  /** Needs no credential. Every other route stands below the paths of the credential that opens it. */
  readonly isPublic?: true
  /** What an administrator must be to use it. Said by every route of a credential that has roles, and by no other. */
  readonly role?: Role
  /** Whether the body may also be NDJSON, which the handler then gets as a stream. */
  readonly lines?: boolean
  /** The body of an error where the route speaks a protocol that has its own; null where it is as everywhere. */
  readonly errorBody?: (error: TidemarkError, request: FastifyRequest) => object | null
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Said by the server, from the path; null where none is needed. */
    credential?: CredentialKind | null
    isPublic?: true
    operation?: Operation
    invalid?: ErrorCode
    unavailable?: ErrorCode
    errors?: readonly ErrorCode[]
    lines?: boolean
    role?: Role
    errorBody?: RouteConfig['errorBody']
  }
  interface FastifyRequest {
    exchange: Exchange
    principal: Principal | null
    admission: Admission | null
    /** Sets the permit of a request free while it only waits, so that long polls do not count as load. */
    releasePermit(): void
    /**
     * For requests that last: rejects with the 401 when their credential has ended since they were let in. `principal` is
     * then what it may do now.
     */
    recheckCredential(): Promise<void>
    /** The answer lacks something: counted by what it lacks, and logged with the cause, unless that is null. Once a cause and request. */
    degraded(warning: Degradation, cause: unknown): void
  }
}

export const consumerOf = (request: FastifyRequest): Consumer => principalOf(request, 'consumer')

/** Whom the credential of that kind belongs to; every route below its paths has one. */
export function principalOf<Kind extends CredentialKind>({ principal }: FastifyRequest, kind: Kind): PrincipalOf<Kind> {
  if (principal?.kind === kind) return principal as PrincipalOf<Kind>
  throw new TidemarkError('unauthorized', `${credentialKinds[kind].name} is required`)
}

/** What a request calls what is asked for, where it does otherwise; by `author or metadata` what needs one of the two. */
type AskedNames = Readonly<Record<string, string | undefined>>

/** The scope of a consumer's request, or 403. */
export function scopeOf(consumer: Consumer, asked: AccessRequest, names: AskedNames = {}): Scope {
  const hidden = consumer.hiddenDatasets.length === 0 ? {} : { hidden: consumer.hiddenDatasets }
  const access = compileScope(consumer.entries, { ...hidden, ...asked })
  if (access.allowed) return access.scope
  const { reason, missing = [] } = access
  const path = access.path === null ? names[missing.join(' or ')] : (names[access.path] ?? access.path)
  throw new TidemarkError(
    'entitlement_denied',
    reason,
    path === undefined ? {} : { details: [{ path, message: reason }] },
  )
}

/** A body that may be left out altogether; the framework then validates null. */
export const optionalBody = <T extends TSchema>(schema: T) => orNull(schema)

/** Fires when the client goes away before it is answered. */
export function abortSignalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const onClose = (): void => {
    if (reply.raw.writableFinished) return
    controller.abort(new TidemarkError('client_closed_request', 'the client went away before it was answered'))
  }
  if (reply.raw.closed) onClose()
  else reply.raw.once('close', onClose)
  return controller.signal
}

/** For work that waits in queues: its turn is the application's, and it is dropped when the client goes away. */
export function callerOf(request: FastifyRequest, reply: FastifyReply): Caller {
  return { id: consumerOf(request).applicationId, signal: abortSignalOf(reply) }
}
