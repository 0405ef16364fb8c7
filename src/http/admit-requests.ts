import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Authenticator } from '../access/authenticate.ts'
import { inFlightMaxOf, rateOf } from '../access/policy.ts'
import type { Principal } from '../access/principal.ts'
import type { Rate, RateState, Rates } from '../access/rate-limits.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { TidemarkError } from '../errors.ts'
import { Admission } from './admission.ts'
import type { Connections } from './connections.ts'
import { wrongEscape } from './error-replies.ts'
import type { Metrics } from './metrics.ts'
import { Permits, PermitsByCaller } from './permits.ts'
import type { Surface } from './route.ts'

/**
 * Who comes in, and how many at once. In this order:
 *
 *   when the headers are there   credential (401), rate (429), place among the caller's own requests in flight (429)
 *   when the body is there       permit (503)
 *
 * A *place* is held until the request is over: answered, and its answer taken, or given up. Whoever sends slowly, reads
 * slowly or waits at the end of the feed is in the way of its own requests only. A *permit* stands for work of this
 * process: it is taken last, and given back when the handler has come to its end, also where the client went away long
 * before. Operators have permits of their own, and so have streams of lines, which last.
 */
const collectorInFlightMax = 32
const adminPermits = 64
const lineStreamsShare = 1 / 8

export interface AdmissionParts {
  readonly authenticator: Authenticator
  readonly usage: UsageBook
  readonly rates: Rates
  readonly metrics: Metrics
  readonly requestsInFlightMax: number
}

export function admitRequests(app: FastifyInstance, parts: AdmissionParts, connections: Connections): void {
  const { authenticator, usage, rates, metrics, requestsInFlightMax } = parts
  const places = new PermitsByCaller()
  const work = new Permits(requestsInFlightMax)
  const lineStreams = new Permits(Math.ceil(requestsInFlightMax * lineStreamsShare))
  const operators = new Permits(adminPermits)
  metrics.gauge('tidemark_requests_in_flight', 'Requests of applications and collectors.', () => places.taken)
  metrics.gauge('tidemark_requests_working', 'Requests that are worked on.', () => work.taken)
  metrics.gauge('tidemark_line_streams', 'Streams of documents that are read.', () => lineStreams.taken)

  app.decorateRequest('principal', null)
  app.decorateRequest('admission', null)
  app.decorateRequest('releasePermit', function (this: FastifyRequest) {
    this.admission?.releasePermit()
  })

  // Hooks that wait for nothing take a callback: a promise for each of them is a tenth of what a small request costs.
  app.addHook('onRequest', (request, reply, done) => {
    const { surface, invalid = 'invalid_request' } = request.routeOptions.config
    /** What is done last: the rest of the request runs in here, and its failures are not ours to answer again. */
    const letIn = (): void => {
      const fault = surface === undefined ? null : addressFault(request.url)
      done(fault === null ? undefined : new TidemarkError(invalid, fault))
    }
    if (surface === undefined || surface === 'public') {
      letIn()
      return
    }
    reply.header('cache-control', 'no-store')
    const admission = new Admission()
    request.admission = admission
    connections.whenOver(request.raw, reply.raw, () => admission.over())

    const place = (caller: string, most: number, limitName: string): void => {
      if (admission.takePlace(places.take(caller, most))) letIn()
      else done(tooManyAtOnce(most, limitName))
    }
    const within = (rate: Rate, state: RateState, principal: Extract<Principal, { kind: 'consumer' }>): void => {
      const refusal = tellRate(rate, state, reply)
      if (refusal === null) place(principal.applicationId, inFlightMaxOf(principal.policy), ' (max_in_flight)')
      else done(refusal)
    }
    const recognise = (principal: Principal | null): void => {
      if (principal === null) {
        done(new TidemarkError('unauthorized', credentialNeeded[surface]))
        return
      }
      request.principal = principal
      if (principal.kind === 'admin') {
        letIn()
        return
      }
      usage.recordKeyUse(principal.keyId, Date.now())
      if (principal.kind === 'collector') {
        place(principal.collectorId, collectorInFlightMax, '')
        return
      }
      const rate = rateOf(principal.policy)
      const state = rates.take(principal.applicationId, rate)
      if (state instanceof Promise) state.then((taken) => within(rate, taken, principal), done)
      else within(rate, state, principal)
    }
    const secret = bearerOf(request.headers.authorization)
    const principal = secret === null ? null : authenticator.identify(secret, surface)
    if (principal instanceof Promise) principal.then(recognise, done)
    else recognise(principal)
  })

  app.addHook('preValidation', (request, _reply, done) => {
    const { admission } = request
    if (admission === null) {
      done()
      return
    }
    const isStream = request.body instanceof Readable
    const permits = request.principal?.kind === 'admin' ? operators : isStream ? lineStreams : work
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

const overloaded = (): TidemarkError =>
  new TidemarkError('overloaded', 'the service is busy: try again in a moment', { retryAfterSeconds: 1 })

function tooManyAtOnce(most: number, name: string): TidemarkError {
  const message = `${most} requests of yours are not answered yet, which is as many as may be at once${name}: wait for answers`
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

const credentialNeeded: Record<Exclude<Surface, 'public'>, string> = {
  consumer: 'send "Authorization: Bearer tmc_…" with a valid consumer API key',
  collector: 'send "Authorization: Bearer tml_…" with a valid collector key',
  admin: 'send "Authorization: Bearer …" with the admin token',
}

/** Says how much of the rate is left; the refusal where nothing is. */
function tellRate(rate: Rate, state: RateState, reply: FastifyReply): TidemarkError | null {
  reply.header(
    'ratelimit-policy',
    `"requests";q=${rate.burst};w=${Math.max(1, Math.ceil(rate.burst / rate.perSecond))}`,
  )
  reply.header('ratelimit', `"requests";r=${state.remaining};t=${state.resetSeconds}`)
  if (state.allowed) return null
  const message = `more than ${rate.perSecond} requests a second: wait and try again`
  return new TidemarkError('rate_limit_exceeded', message, { retryAfterSeconds: state.retryAfterSeconds })
}
