import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Authenticator } from '../access/authenticator.ts'
import { type CredentialKind, credentialKinds, kindOf, type Limits } from '../access/credential-kinds.ts'
import type { Principal } from '../access/principal.ts'
import type { Rate, RateState, Rates } from '../access/rate-limits.ts'
import { roleRefusal } from '../access/roles.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { TidemarkError } from '../errors.ts'
import type { Measures } from '../measures.ts'
import { Admission } from './admission.ts'
import { wrongEscape } from './error-replies.ts'
import { askedWithin } from './own-requests.ts'
import { Permits, PermitsByCaller } from './permits.ts'

/**
 * Who comes in, and how many at once. In this order:
 *
 *   when the headers are there   credential (401), role (403), rate (429), place among the caller's own requests in flight (429)
 *   when the body is there       permit (503)
 *
 * A *place* is held until the request is over: answered, and its answer taken, or given up. Whoever sends slowly, reads
 * slowly or waits at the end of the feed is in the way of its own requests only. A *permit* stands for work of this
 * process: it is taken last, and given back when the handler has come to its end, also where the client went away long
 * before. Operators have permits of their own, and so have streams of lines, which last.
 */
const adminPermits = 64
const lineStreamsShare = 1 / 8

export interface AdmissionParts {
  readonly authenticator: Authenticator
  readonly usage: UsageBook
  readonly rates: Rates
  readonly measures: Measures
  readonly requestsInFlightMax: number
}

export function admitRequests(app: FastifyInstance, parts: AdmissionParts): void {
  const { authenticator, usage, rates, measures, requestsInFlightMax } = parts
  const places = new PermitsByCaller()
  const work = new Permits(requestsInFlightMax)
  const lineStreams = new Permits(Math.ceil(requestsInFlightMax * lineStreamsShare))
  const operators = new Permits(adminPermits)
  const gauge = (name: string, help: string, read: () => number): void => measures.gauge({ name, help }, read)
  gauge('tidemark_requests_in_flight', 'Requests of applications and collectors.', () => places.taken)
  gauge('tidemark_requests_working', 'Requests that are worked on.', () => work.taken)
  gauge('tidemark_line_streams', 'Streams of documents that are read.', () => lineStreams.taken)

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

  // Hooks that wait for nothing take a callback: a promise for each of them is a tenth of what a small request costs.
  app.addHook('onRequest', (request, reply, done) => {
    const { credential, role, invalid = 'invalid_request' } = request.routeOptions.config
    /** What is done last: the rest of the request runs in here, and its failures are not ours to answer again. */
    const letIn = (): void => {
      const fault = credential === undefined ? null : addressFault(request.url)
      done(fault === null ? undefined : new TidemarkError(invalid, fault))
    }
    if (credential === undefined || credential === null) {
      letIn()
      return
    }
    reply.header('cache-control', 'no-store')
    const asked = askedWithin()
    if (asked !== undefined) {
      // Nothing that needs a role is done in the name of somebody else.
      if (asked.principal.kind !== credential || role !== undefined) {
        done(unauthorized(credential))
        return
      }
      request.principal = asked.principal
      asked.signal.addEventListener('abort', () => reply.raw.destroy(), { once: true })
      letIn()
      return
    }
    const admission = new Admission()
    request.admission = admission
    request.exchange.whenOver(() => admission.over())

    const place = (caller: string, limits: Limits): void => {
      if (admission.takePlace(places.take(caller, limits.inFlightMax))) letIn()
      else done(tooManyAtOnce(limits))
    }
    const within = (caller: string, rate: Rate, state: RateState, limits: Limits): void => {
      const refusal = tellRate(rate, state, reply)
      if (refusal === null) place(caller, limits)
      else done(refusal)
    }
    const recognise = (principal: Principal | null): void => {
      if (principal === null) {
        done(unauthorized(credential))
        return
      }
      request.principal = principal
      if (principal.keyId !== null) usage.recordKeyUse(principal.keyId, Date.now())
      const kind = kindOf(principal)
      const refusal = role === undefined || kind.role === null ? null : roleRefusal(kind.role(principal), role)
      if (refusal !== null) {
        done(refusal)
        return
      }
      const limits = kind.limits(principal)
      if (limits === null) {
        letIn()
        return
      }
      const caller = kind.caller(principal)
      const { rate } = limits
      if (rate === null) {
        place(caller, limits)
        return
      }
      const state = rates.take(caller, rate)
      if (state instanceof Promise) state.then((taken) => within(caller, rate, taken, limits), done)
      else within(caller, rate, state, limits)
    }
    const secret = bearerOf(request.headers.authorization)
    const principal = secret === null ? null : authenticator.identify(secret, credential)
    if (principal instanceof Promise) principal.then(recognise, done)
    else recognise(principal)
  })

  app.addHook('preValidation', (request, _reply, done) => {
    const { admission, principal } = request
    if (admission === null || principal === null) {
      done()
      return
    }
    const isStream = request.body instanceof Readable
    const permits = kindOf(principal).isOperator ? operators : isStream ? lineStreams : work
    done(admission.takePermit(permits) ? undefined : overloaded())
  })

  app.addHook('onRoute', (route) => {
    route.handler = untilItEnds(route.handler)
  })
}

/** The handler, with its beginning and its end told. */
function untilItEnds(handler: RouteHandlerMethod): RouteHandlerMethod {
  return function (this: FastifyInstance, request: FastifyRequest, reply: FastifyReply) {
    const { admission } = request
    if (admission === null) return handler.call(this, request, reply)
    admission.workBegins()
    const ends = (): void => admission.workEnds()
    let result: unknown
    try {
      result = handler.call(this, request, reply)
    } catch (error) {
      ends()
      throw error
    }
    if (result instanceof Promise) result.then(ends, ends)
    else ends()
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
 * What cannot be in the parameters of an address. No id of ours holds a NUL, and not every store can even be asked for
 * one.
 */
function addressFault(url: string): string | null {
  if (!url.includes('%')) return null
  if (url.includes('%00')) return 'the path and query must not contain the NUL character (%00)'
  try {
    decodeURIComponent(url)
    return null
  } catch {
    return `the query has ${wrongEscape}`
  }
}

/** The credential of `Bearer …`, in any case of the scheme; null for anything else. */
function bearerOf(header: string | undefined): string | null {
  return /^bearer ([^ ]+)$/i.exec(header ?? '')?.[1] ?? null
}

/** Says how much of the rate is left; the refusal where nothing is. */
function tellRate(rate: Rate, state: RateState, reply: FastifyReply): TidemarkError | null {
  reply.header(
    'ratelimit-policy',
    `"requests";q=${rate.burst};w=${Math.max(1, Math.ceil(rate.burst / rate.perSecond))}`,
  )
  reply.header('ratelimit', `"requests";r=${state.remaining};t=${state.resetSeconds}`)
  if (state.allowed) return null
  const message = `more than ${rate.perSecond} requests per second: wait and try again`
  return new TidemarkError('rate_limit_exceeded', message, { retryAfterSeconds: state.retryAfterSeconds })
}
