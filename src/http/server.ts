import type { IncomingMessage } from 'node:http'
import cors from '@fastify/cors'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { AccessStore } from '../access/access-store.ts'
import { credentialAt, credentialKinds } from '../access/credential-kinds.ts'
import { isUnavailability, TidemarkError } from '../errors.ts'
import { validatorFor } from '../validation.ts'
import { type AdmissionParts, admitRequests } from './admit-requests.ts'
import { BareAnswers } from './bare-answers.ts'
import { compileLater } from './compile-later.ts'
import { compressAnswers } from './compress-answers.ts'
import { Connections } from './connections.ts'
import { CutOffAnswers } from './cut-off-answers.ts'
import { type DescribedRoute, describeRoutes } from './describe-routes.ts'
import { answerError, errorFrom } from './error-replies.ts'
import { headerFault } from './header-fault.ts'
import { type Degradation, HttpMeasures } from './http-measures.ts'
import { makesSomething, takeIdempotencyKeys, takesIdempotencyKey } from './make-once.ts'
import { readBodies } from './read-bodies.ts'
import { requestIdOf } from './request-id.ts'
import { logUnrouted, requestLog } from './request-log.ts'
import { RouteTable } from './route-table.ts'
import { securityHeaders } from './security-headers.ts'

/** JSON bodies above this are 413; routes that take more say so themselves. */
const bodyBytesMax = 1_048_576

/** Until the headers of a request are there, from the opening of the connection or the first byte. */
const headersMaxMs = 20_000

/** On a connection with a request under way, without a byte in either direction: longer than any answer takes. */
const stillMaxMs = 15 * 60_000

export interface ServerParts extends AdmissionParts {
  readonly claims: Pick<AccessStore, 'findClaim'>
  readonly logger: FastifyBaseLogger
  readonly corsOrigins: readonly string[]
  readonly connectionsMax: number
  /** For a JSON body to arrive, and for a stream of lines to go on. */
  readonly bodyTimeoutMs: number
  /** How long, after the end has begun, requests are still taken and idle connections left open. */
  readonly shutdownDrainMs: number
  /** Registers the routes of every slice. */
  readonly routes: (app: FastifyInstance) => void | Promise<void>
}

/**
 * The way of a request, in order: request id and security headers, credential (401), rate and place (429), body (408, 413,
 * 415), permit (503), schema (400), then the route: scope (403), quota (429), work.
 */
export async function makeServer(parts: ServerParts): Promise<FastifyInstance> {
  const table = new RouteTable()
  const routes: DescribedRoute[] = []
  const measures = new HttpMeasures(parts.measures)
  const log = { ...parts, measures }
  /** Here every error passes that is answered: those of 5xx are logged, each once, and counted. */
  const answer = (error: TidemarkError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    measures.errorAnswered(error.code, request.principal ?? null)
    if (error.status >= 500) {
      const line = { reqId: request.id, code: error.code, err: error.code === 'internal' ? error.cause : error }
      if (error.code === 'internal') request.log.error(line, 'request failed')
      else request.log.warn(line, 'request failed')
    }
    return answerError(error, request, reply)
  }

  const bareAnswers = new BareAnswers((request) => logUnrouted(log, request))

  const app = Fastify({
    loggerInstance: parts.logger,
    logController: new CutOffAnswers(),
    // No logger of its own for each request: the two places that log give the request's id themselves.
    childLoggerFactory: (logger) => logger,
    bodyLimit: bodyBytesMax,
    genReqId: (request: IncomingMessage) => requestIdOf(request),
    // A path parameter or header that is too long or wrongly escaped is answered like any other bad request.
    routerOptions: { maxParamLength: 512, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => {
      const refusal = errorFrom(error, { invalid: 'not_found' })
      const { id: reqId, method, ip } = request
      logUnrouted(log, { reqId, method, status: refusal.status, ip, reason: error.code })
      return answer(refusal, request, reply.headers(securityHeaders))
    },
    clientErrorHandler: (error, socket) => bareAnswers.unparsed(error, socket, connections.unanswered(socket)),
    // Node would answer a missing Host without a body; the first hook says it properly.
    http: { requireHostHeader: false, headersTimeout: headersMaxMs, connectionsCheckingInterval: headersMaxMs / 4 },
    // Of the whole request: bodies have time limits of their own. Of its headers: below, in http.
    requestTimeout: 0,
    connectionTimeout: stillMaxMs,
    return503OnClosing: false,
    forceCloseConnections: false,
    exposeHeadRoutes: true,
    schemaController: { compilersFactory: compileLater },
  })
  app.setValidatorCompiler(({ schema, httpPart }) => validatorFor(schema as object, httpPart))
  app.decorateRequest('degraded', function (this: FastifyRequest, warning: Degradation, cause: unknown) {
    measures.answerDegraded(warning)
    if (cause === null) return
    const line = { reqId: this.id, warning, err: cause }
    if (isUnavailability(cause)) this.log.warn(line, 'the answer lacks something')
    else this.log.error(line, 'the answer lacks something')
  })
  bareAnswers.listen(app.server)

  const connections = new Connections(app.server, parts.connectionsMax, parts.measures)
  app.addHook('preClose', () => connections.drain(parts.shutdownDrainMs))

  const logWhenOver = requestLog(log, connections)
  app.decorateRequest('exchange')
  app.addHook('onRequest', (request, reply, done) => {
    request.exchange = connections.begin(request.raw, reply.raw)
    logWhenOver(request, reply)
    reply.header('x-request-id', request.id)
    reply.headers(securityHeaders)
    const fault = headerFault(request.raw)
    done(fault === null ? undefined : new TidemarkError('invalid_request', fault))
  })
  // Before the credential is looked at: preflights carry none, and a page must be able to read a 401 or 429 too.
  if (parts.corsOrigins.length > 0) {
    await app.register(cors, {
      origin: parts.corsOrigins.includes('*') ? '*' : [...parts.corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      allowedHeaders: [
        ...['authorization', 'content-type', 'idempotency-key', 'x-request-id', 'range', 'if-none-match', 'if-match'],
        // Of clients of the Model Context Protocol.
        ...['mcp-protocol-version', 'mcp-session-id'],
      ],
      exposedHeaders: [
        ...['x-request-id', 'ratelimit', 'ratelimit-policy', 'retry-after', 'etag', 'content-range'],
        ...['location', 'tidemark-next-cursor', 'tidemark-changes-cursor'],
      ],
      maxAge: 600,
      // Strict, the plugin answers an incomplete preflight with a text of its own in place of our error shape.
      strictPreflight: false,
    })
  }

  app.addHook('onRoute', (route) => {
    const { operation, invalid, role, isPublic = false } = route.config ?? {}
    const named = `route ${route.method} ${route.url}`
    if (operation === undefined || invalid === undefined) {
      throw new Error(`${named} does not say its operation and error code`)
    }
    const credential = credentialAt(route.url)
    if (isPublic && credential !== null) throw new Error(`${named} is public, but stands where a credential is needed`)
    if (!isPublic && credential === null)
      throw new Error(`${named} stands where no credential is needed, but is not public`)
    const hasRoles = credential !== null && credentialKinds[credential].role !== null
    if (hasRoles && role === undefined) throw new Error(`${named} does not say which role it needs`)
    if (!hasRoles && role !== undefined) throw new Error(`${named} needs a role, but its credential has none`)
    if (makesSomething(route) && !takesIdempotencyKey(route)) {
      throw new Error(`${named} makes something, but takes no Idempotency-Key`)
    }
    route.config = { ...route.config!, credential }
    table.add(route.url, route.method)
    if (route.method !== 'HEAD') routes.push(route)
  })
  app.decorate('describe', () => describeRoutes(routes, app.getSchemas()))

  /** 404, or 405 where there is something at the path for another method. */
  const nothingHere = (request: FastifyRequest, reply: FastifyReply): TidemarkError => {
    const methods = table.methodsFor(request.url.split('?', 1)[0]!)
    if (methods.length === 0)
      return new TidemarkError('not_found', 'there is nothing at this path: /docs lists every route')
    reply.header('allow', methods.join(', '))
    const message = `${request.method} is not allowed here: use ${methods.join(' or ')}`
    return new TidemarkError('method_not_allowed', message)
  }
  // Before the framework looks at a body that is for nobody.
  app.addHook('onRequest', (request, reply, done) => done(request.is404 ? nothingHere(request, reply) : undefined))
  app.setNotFoundHandler((request, reply) => answer(nothingHere(request, reply), request, reply))

  compressAnswers(app)
  admitRequests(app, parts)
  takeIdempotencyKeys(app, parts.claims)
  readBodies(app, parts.bodyTimeoutMs, connections)

  app.setErrorHandler((error, request, reply) => {
    const refusal = errorFrom(error, request.routeOptions.config)
    // The framework would close the connection of every body that is refused; that is for one that does not come.
    if (refusal.code !== 'request_timeout') reply.removeHeader('connection')
    return answer(refusal, request, reply)
  })
  await parts.routes(app)
  return app
}
