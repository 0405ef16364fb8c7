import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Authenticator } from '../access/authenticator.ts'
import { type CredentialKind, credentialKinds, kindOf, type Limits } from '../access/credential-kinds.ts'
import type { Rate, RateState, Rates } from '../access/rate-limits.ts'
import { roleRefusal } from '../access/roles.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { TidemarkError } from '../platform/errors.ts'
import type { Measures } from '../platform/measures.ts'
import { Admission } from './admission.ts'
import { invalidPercentEscape } from './error-replies.ts'
import { outerRequest } from './internal-requests.ts'
import { Permits, PermitsByCaller } from './permits.ts'
import { isDecodable } from './request-head.ts'

const adminPermits = 64
const lineStreamsShare = 1 / 8

export interface AdmissionParts {
  readonly authenticator: Authenticator
  readonly usage: UsageBook
  readonly rates: Rates
  readonly measures: Measures
  readonly requestsInFlightMax: number
}

/**
 * Decides which requests are admitted, and how many at once. In this order:
 *
 *   after the headers   credential (401), role (403), rate (429), slot among the caller's own requests in flight (429)
 *   after the body      permit (503)
 *
 * A *slot* is held until the request ends: its answer was delivered, or the connection was closed. A client that sends
 * slowly, reads slowly or waits at the end of the feed therefore blocks only its own requests. A *permit* stands for
 * work of this process. It is taken last and released when the handler ends, even if the client disconnected long
 * before. Operators have permits of their own. So have streams of lines, because they last.
 */
export function admitRequests(app: FastifyInstance, parts: AdmissionParts): void {
  const { authenticator, usage, rates, measures, requestsInFlightMax } = parts
  const slots = new PermitsByCaller()
  const work = new Permits(requestsInFlightMax)
  const lineStreams = new Permits(Math.ceil(requestsInFlightMax * lineStreamsShare))
  const operators = new Permits(adminPermits)
  const gauge = (name: string, help: string, read: () => number): void => measures.gauge({ name, help }, read)
  gauge('tidemark_requests_in_flight', 'Requests of applications and collectors.', () => slots.taken)
  gauge('tidemark_requests_working', 'Requests being worked on.', () => work.taken)
  gauge('tidemark_line_streams', 'Document streams being read.', () => lineStreams.taken)

  app.decorateRequest('principal', null)
  app.decorateRequest('admission', null)
  app.decorateRequest('releasePermit', function (this: FastifyRequest) {
    this.admission?.releasePermit()
  })
  app.decorateRequest('recheckCredential', async function (this: FastifyRequest) {
    const { credential } = this.routeOptions.config
    if (credential === undefined || credential === null) return
    const secret = bearerOf(this.headers.authorization)
    const principal = secret === null ? null : await authenticator.identify(secret, credential)
    if (principal === null) throw unauthorized(credential)
    this.principal = principal
  })

  app.addHook('onRequest', async (request, reply) => {
    const { credential, role, invalid = 'invalid_request' } = request.routeOptions.config
    if (credential === undefined) return
    if (credential !== null) {
      reply.header('cache-control', 'no-store')
      const outer = outerRequest()
      if (outer === undefined) await admit(request, reply, credential)
      else {
        // An internal request cannot use a role, or another kind of credential than the outer request.
        if (outer.principal.kind !== credential || role !== undefined) throw unauthorized(credential)
        request.principal = outer.principal
        outer.signal.addEventListener('abort', () => reply.raw.destroy(), { once: true })
      }
    }
    // Public routes are checked too, because their addresses can also reach a store.
    const fault = addressFault(request.originalUrl)
    if (fault !== null) throw new TidemarkError(invalid, fault)
  })

  async function admit(request: FastifyRequest, reply: FastifyReply, credential: CredentialKind): Promise<void> {
    const { role, isMonitoring } = request.routeOptions.config
    const admission = new Admission()
    request.admission = admission
    request.exchange.onEnd(() => admission.requestEnds())
    const secret = bearerOf(request.headers.authorization)
    if (secret === null) throw unauthorized(credential)
    const principal =
      isMonitoring === true
        ? await authenticator.identifyForMonitoring(secret, credential)
        : await authenticator.identify(secret, credential)
    if (principal === null) throw unauthorized(credential)
    request.principal = principal
    if (principal.keyId !== null) usage.recordKeyUse(principal.keyId, Date.now())
    const kind = kindOf(principal)
    const refusal = role === undefined || kind.role === null ? null : roleRefusal(kind.role(principal), role)
    if (refusal !== null) throw refusal
    const limits = kind.limits(principal)
    if (limits === null) return
    const caller = kind.caller(principal)
    if (limits.rate !== null) takeRate(limits.rate, await rates.take(caller, limits.rate), reply)
    if (!admission.takeSlot(slots.take(caller, limits.inFlightMax))) throw tooManyAtOnce(limits)
  }

  app.addHook('preValidation', async ({ admission, principal, body }) => {
    if (admission === null || principal === null) return
    const isStream = body instanceof Readable
    const permits = kindOf(principal).isOperator ? operators : isStream ? lineStreams : work
    if (!admission.takePermit(permits)) throw overloaded()
  })

  app.addHook('onRoute', (route) => {
    route.handler = trackingWork(route.handler)
  })
}

/** Wraps the handler so that admission knows when it starts and ends. */
function trackingWork(handler: RouteHandlerMethod): RouteHandlerMethod {
  return function (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
    const { admission } = request
    if (admission === null) return handler.call(this, request, reply)
    admission.workStarts()
    const onEnd = (): void => admission.workEnds()
    let result: unknown
    try {
      result = handler.call(this, request, reply)
    } catch (error) {
      onEnd()
      throw error
    }
    if (result instanceof Promise) result.then(onEnd, onEnd)
    else onEnd()
    return result
  }
}

const unauthorized = (kind: CredentialKind): TidemarkError =>
  new TidemarkError('unauthorized', credentialKinds[kind].refusal)

const overloaded = (): TidemarkError =>
  new TidemarkError('overloaded', 'the service is busy: try again in a moment', { retryAfterSeconds: 1 })

function tooManyAtOnce({ inFlightMax, setting }: Limits): TidemarkError {
  const most = `the maximum${setting === null ? '' : ` (${setting})`}`
  const message = `${inFlightMax} of your requests are still in flight, ${most}: wait for responses`
  return new TidemarkError('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
}

/**
 * Returns the fault in the parameters of an address, or null. No ID contains NUL, and PostgreSQL refuses a parameter
 * with one.
 */
function addressFault(url: string): string | null {
  if (!url.includes('%')) return null
  if (url.includes('%00')) return 'the path and query must not contain the NUL character (%00)'
  if (isDecodable(url)) return null
  const [path = ''] = url.split('?', 1)
  return `the ${isDecodable(path) ? 'query' : 'path'} has ${invalidPercentEscape}`
}

/** Returns the credential of `Bearer …`, with the scheme in any case, or null. */
function bearerOf(header: string | undefined): string | null {
  return /^bearer ([^ ]+)$/i.exec(header ?? '')?.[1] ?? null
}

/** Sets the rate headers, and refuses the request if no token is left. */
function takeRate(rate: Rate, state: RateState, reply: FastifyReply): void {
  reply.header(
    'ratelimit-policy',
    `"requests";q=${rate.burst};w=${Math.max(1, Math.ceil(rate.burst / rate.perSecond))}`,
  )
  reply.header('ratelimit', `"requests";r=${state.remaining};t=${state.resetSeconds}`)
  if (state.allowed) return
  const message = `more than ${rate.perSecond} requests per second: wait and try again`
  throw new TidemarkError('rate_limit_exceeded', message, { retryAfterSeconds: state.retryAfterSeconds })
}
