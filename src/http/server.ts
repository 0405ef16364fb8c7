import type { IncomingMessage } from 'node:http'
import cors from '@fastify/cors'
import swagger from '@fastify/swagger'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Authenticator } from '../access/authenticate.ts'
import { quotaOperations } from '../access/operations.ts'
import { rateOf } from '../access/policy.ts'
import type { Principal } from '../access/principal.ts'
import type { Rate, RateState, Rates } from '../access/rate-limits.ts'
import type { UsageBook } from '../access/usage-book.ts'
import { isUnavailability, TidemarkError } from '../errors.ts'
import { validatorFor } from '../validation.ts'
import { CutOffAnswers } from './cut-off-answers.ts'
import { answerError, answerExpectation, answerUnparsed, errorFrom } from './error-replies.ts'
import { parseJsonBody } from './json-body.ts'
import type { Metrics } from './metrics.ts'
import { openApiOptions } from './openapi.ts'
import { Permits } from './permits.ts'
import { requestIdOf } from './request-id.ts'
import { RouteTable } from './route-table.ts'
import { securityHeaders } from './security-headers.ts'

/** JSON bodies above this are 413; routes that take more say so themselves. */
const bodyBytesMax = 1_048_576

/** While the server ends, how often connections that have become idle are closed. */
const idleSweepMs = 50

export interface ServerParts {
  readonly logger: FastifyBaseLogger
  readonly authenticator: Authenticator
  readonly usage: UsageBook
  readonly rates: Rates
  readonly metrics: Metrics
  readonly corsOrigins: readonly string[]
  readonly requestsInFlightMax: number
  /** Registers the routes of every slice. */
  readonly routes: (app: FastifyInstance) => void | Promise<void>
}

/**
 * The way of a request, in order: request id and security headers, permit (503), credential (401), rate (429), body
 * and schema (400), then the route: scope (403), quota (429), work.
 */
export async function makeServer(parts: ServerParts): Promise<FastifyInstance> {
  const { authenticator, usage, rates, metrics } = parts
  const permits = new Permits(parts.requestsInFlightMax)
  const table = new RouteTable()
  /** Here every error passes that is answered: those of 5xx are logged, each once, and counted. */
  const answer = (error: TidemarkError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (error.status >= 500) {
      metrics.errorAnswered(error.code)
      const line = { reqId: request.id, code: error.code, err: error.code === 'internal' ? error.cause : error }
      if (error.code === 'internal') request.log.error(line, 'request failed')
      else request.log.warn(line, 'request failed')
    }
    return answerError(error, request, reply)
  }

  const app = Fastify({
    loggerInstance: parts.logger,
    logController: new CutOffAnswers(),
    // No logger of its own for each request: the two places that log give the request's id themselves.
    childLoggerFactory: (logger) => logger,
    bodyLimit: bodyBytesMax,
    genReqId: (request: IncomingMessage) => requestIdOf(request),
    // A path parameter or header that is too long or wrongly escaped is answered like any other bad request.
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) =>
      answer(errorFrom(error, { invalid: 'not_found' }), request, reply.headers(securityHeaders)),
    clientErrorHandler: answerUnparsed,
    // Node would answer a missing Host without a body; the first hook says it properly.
    http: { requireHostHeader: false },
    requestTimeout: 0,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: true,
  })
  app.setValidatorCompiler(({ schema, httpPart }) => validatorFor(schema as object, httpPart))
  app.decorateRequest('principal', null)
  app.decorateRequest('releasePermit', null)
  app.decorateRequest('degraded', function (this: FastifyRequest, warning: string, cause: unknown) {
    metrics.answerDegraded(warning)
    const line = { reqId: this.id, warning, err: cause }
    if (isUnavailability(cause)) this.log.warn(line, 'the answer lacks something')
    else this.log.error(line, 'the answer lacks something')
  })

  app.removeContentTypeParser('text/plain')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) =>
    parseJsonBody(request, body),
  )
  app.server.on('checkExpectation', answerExpectation)

  // Hooks that wait for nothing take a callback: a promise for each of them is a tenth of what a small request costs.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    reply.headers(securityHeaders)
    const hostless = request.headers.host === undefined && request.raw.httpVersion === '1.1'
    done(hostless ? new TidemarkError('invalid_request', 'the Host header is missing') : undefined)
  })
  // Before the credential is looked at: preflights carry none, and a page must be able to read a 401 or 429 too.
  if (parts.corsOrigins.length > 0) {
    await app.register(cors, {
      origin: parts.corsOrigins.includes('*') ? '*' : [...parts.corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      allowedHeaders: ['authorization', 'content-type', 'idempotency-key', 'x-request-id', 'range', 'if-none-match'],
      exposedHeaders: ['x-request-id', 'ratelimit', 'ratelimit-policy', 'retry-after', 'etag', 'content-range'],
      maxAge: 600,
      // Strict, the plugin answers an incomplete preflight with a text of its own in place of our error shape.
      strictPreflight: false,
    })
  }

  app.addHook('onRoute', (route) => {
    const { surface, operation, invalid } = route.config ?? {}
    if (surface === undefined || operation === undefined || invalid === undefined) {
      throw new Error(`route ${route.method} ${route.url} does not say its surface, operation and error code`)
    }
    table.add(route.url, route.method)
  })

  app.addHook('onRequest', (request, reply, done) => {
    const { surface, invalid = 'invalid_request' } = request.routeOptions.config
    /** What is done last: the rest of the request runs in here, and its failures are not ours to answer again. */
    const admit = (): void => {
      const fault = surface === undefined ? null : addressFault(request.url)
      done(fault === null ? undefined : new TidemarkError(invalid, fault))
    }
    const within = (rate: Rate, state: RateState): void => {
      const refusal = tellRate(rate, state, reply)
      if (refusal === null) admit()
      else done(refusal)
    }
    const recognise = (principal: Principal | null): void => {
      if (principal === null) {
        done(new TidemarkError('unauthorized', credentialNeeded[surface as keyof typeof credentialNeeded]))
        return
      }
      request.principal = principal
      if (principal.kind !== 'admin') usage.recordKeyUse(principal.keyId, Date.now())
      if (principal.kind !== 'consumer') {
        admit()
        return
      }
      const rate = rateOf(principal.policy)
      const state = rates.take(principal.applicationId, rate)
      if (state instanceof Promise) state.then((taken) => within(rate, taken), done)
      else within(rate, state)
    }
    if (surface === undefined || surface === 'public') {
      admit()
      return
    }
    reply.header('cache-control', 'no-store')
    try {
      request.releasePermit = permits.take()
    } catch (error) {
      done(error as Error)
      return
    }
    const secret = bearerOf(request.headers.authorization)
    const principal = secret === null ? null : authenticator.identify(secret, surface)
    if (principal instanceof Promise) principal.then(recognise, done)
    else recognise(principal)
  })

  app.addHook('onResponse', (request, reply, done) => {
    request.releasePermit?.()
    const { operation = 'unknown' } = request.routeOptions.config
    const seconds = reply.elapsedTime / 1000
    metrics.request(operation, reply.statusCode, seconds)
    const { principal } = request
    if (
      principal?.kind === 'consumer' &&
      reply.statusCode < 400 &&
      operation !== 'unknown' &&
      !(operation in quotaOperations)
    ) {
      usage.count(principal.applicationId, operation, Date.now())
    }
    parts.logger.info(
      {
        reqId: request.id,
        method: request.method,
        operation,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        ...(principal?.kind === 'consumer' ? { application: principal.applicationId } : {}),
        ...(principal?.kind === 'collector' ? { collector: principal.collectorId } : {}),
      },
      'request',
    )
    done()
  })
  // A client that goes away in the middle gets no response; its permit must come back all the same.
  app.addHook('onRequestAbort', async (request) => request.releasePermit?.())

  // A connection whose last request was under way when the end began stays open for the next one, which never comes.
  app.addHook('preClose', async () => {
    const sweep = setInterval(() => app.server.closeIdleConnections(), idleSweepMs)
    app.server.once('close', () => clearInterval(sweep))
  })

  app.setErrorHandler((error, request, reply) => answer(errorFrom(error, request.routeOptions.config), request, reply))
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0]!
    const methods = table.methodsFor(path)
    if (methods.length > 0) {
      reply.header('allow', methods.join(', '))
      const message = `${request.method} is not possible here: use ${methods.join(' or ')}`
      return answer(new TidemarkError('method_not_allowed', message), request, reply)
    }
    const message = 'there is nothing at this path: /docs lists every route'
    return answer(new TidemarkError('not_found', message), request, reply)
  })

  await app.register(swagger, openApiOptions)
  await parts.routes(app)
  return app
}

/**
 * What cannot be in the parameters of an address. No id of ours holds a NUL, and not every store can even be asked for
 * one; an escape that is no UTF-8 would be taken for the characters that it is written with.
 */
function addressFault(url: string): string | null {
  if (!url.includes('%')) return null
  if (url.includes('%00')) return 'the path and query must not contain the NUL character (%00)'
  try {
    decodeURIComponent(url)
    return null
  } catch {
    return 'the query has a percent-escape that is not UTF-8: a percent sign itself is written %25'
  }
}

/** The credential of `Bearer …`, in any case of the scheme; null for anything else. */
function bearerOf(header: string | undefined): string | null {
  return /^bearer ([^ ]+)$/i.exec(header ?? '')?.[1] ?? null
}

const credentialNeeded = {
  consumer: 'send "Authorization: Bearer tmc_…" with a valid consumer API key',
  collector: 'send "Authorization: Bearer tml_…" with a valid collector key',
  admin: 'send "Authorization: Bearer …" with the admin token',
} as const

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
