import type { IncomingMessage } from 'node:http'
import cors from '@fastify/cors'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { AccessStore } from '../access/access-store.ts'
import { credentialAt, credentialKinds } from '../access/credential-kinds.ts'
import { isUnavailability, TidemarkError } from '../platform/errors.ts'
import { type Tracer, untraced } from '../platform/tracing.ts'
import { validatorFor } from '../platform/validation.ts'
import { type AdmissionParts, admitRequests } from './admit-requests.ts'
import { BareAnswers } from './bare-answers.ts'
import { compileLater } from './compile-later.ts'
import { compressAnswers } from './compress-answers.ts'
import { Connections } from './connections.ts'
import { type DescribedRoute, describeRoutes } from './describe-routes.ts'
import { answerError, errorFrom } from './error-replies.ts'
import { type Degradation, HttpMeasures } from './http-measures.ts'
import { createsResource, takeIdempotencyKeys, takesIdempotencyKey } from './make-once.ts'
import { headerBytesMax } from './query-parameters.ts'
import { readBodies } from './read-bodies.ts'
import { headerFault, requestIdOf, routable } from './request-head.ts'
import { CutOffAnswers, logUnrouted, requestLog } from './request-log.ts'
import { RouteTable } from './route-table.ts'
import { securityHeaders } from './security-headers.ts'
import { traceRequests } from './trace-requests.ts'

/** JSON bodies above this are 413. Routes with another limit set it themselves. */
const bodyBytesMax = 1_048_576

/** The time limit for the headers of a request, from the opening of the connection or the first byte. */
const headersMaxMs = 20_000

/**
 * The time limit for a connection with a request in progress but no byte in either direction. No answer takes this
 * long.
 */
const idleMaxMs = 15 * 60_000

export interface ServerParts extends AdmissionParts {
  readonly claims: Pick<AccessStore, 'findClaim'>
  readonly logger: FastifyBaseLogger
  readonly tracer?: Tracer
  readonly corsOrigins: readonly string[]
  readonly connectionsMax: number
  /** The time limit for a JSON body to arrive, and for a stream of lines to make progress. */
  readonly bodyTimeoutMs: number
  /** How long requests are still accepted and idle connections kept open after shutdown has begun. */
  readonly shutdownDrainMs: number
  /** Registers the routes of every slice. */
  readonly routes: (app: FastifyInstance) => void | Promise<void>
}

const pathOf = ({ url }: FastifyRequest): string => url.split('?', 1)[0]!

/**
 * The steps of a request, in order: request ID and security headers, credential (401), rate and slot (429), body (408,
 * 413, 415), permit (503), schema (400), then the route: scope (403), quota (429), work.
 */
export async function makeServer(parts: ServerParts): Promise<FastifyInstance> {
  const table = new RouteTable()
  const routes: DescribedRoute[] = []
  const measures = new HttpMeasures(parts.measures)
  const log = { ...parts, measures }
  /** Every error answer passes here. Errors with a 5xx status are logged once and counted. */
  const answer = (error: TidemarkError, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    measures.errorAnswered(error.code, request.principal ?? null)
    request.trace?.setAttributes({ 'error.type': error.code })
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
    // No logger for each request: the two places that log add the request's ID themselves.
    childLoggerFactory: (logger) => logger,
    bodyLimit: bodyBytesMax,
    genReqId: (request: IncomingMessage) => requestIdOf(request),
    rewriteUrl: ({ url = '/' }) => routable(url),
    // The schema of each route limits the length of its path parameters.
    routerOptions: { maxParamLength: headerBytesMax, ignoreTrailingSlash: false },
    frameworkErrors: (error, request, reply) => {
      const refusal = errorFrom(error, { invalid: 'invalid_request' })
      const { id: reqId, method, ip } = request
      logUnrouted(log, { reqId, method, status: refusal.status, ip, reason: error.code })
      return answer(refusal, request, reply.headers(securityHeaders))
    },
    clientErrorHandler: (error, socket) => bareAnswers.unparsed(error, socket, connections.unanswered(socket)),
    // Node would answer a missing Host without a body, so the first hook checks it instead.
    http: {
      requireHostHeader: false,
      maxHeaderSize: headerBytesMax,
      headersTimeout: headersMaxMs,
      connectionsCheckingInterval: headersMaxMs / 4,
    },
    // No limit on the whole request, because bodies have time limits of their own. The limit for headers is above, in
    // `http`.
    requestTimeout: 0,
    connectionTimeout: idleMaxMs,
    return503OnClosing: false,
    forceCloseConnections: false,
    exposeHeadRoutes: true,
    schemaController: { compilersFactory: compileLater },
  })
  app.setValidatorCompiler(({ schema, httpPart, url }) =>
    validatorFor(schema as object, httpPart, { nullIsAbsent: httpPart === 'body' && url.startsWith('/v1/') }),
  )
  app.decorateRequest('degraded', function (this: FastifyRequest, warning: Degradation, cause: unknown) {
    measures.answerDegraded(warning)
    this.trace?.setAttributes({ 'tidemark.degraded': warning })
    if (cause === null) return
    const line = { reqId: this.id, warning, err: cause }
    if (isUnavailability(cause)) this.log.warn(line, 'the answer is degraded')
    else this.log.error(line, 'the answer is degraded')
  })
  bareAnswers.listen(app.server)

  const connections = new Connections(app.server, parts.connectionsMax, parts.measures)
  app.addHook('preClose', () => connections.drain(parts.shutdownDrainMs))

  traceRequests(app, parts.tracer ?? untraced)
  const logAtEnd = requestLog(log, connections)
  app.decorateRequest('exchange')
  app.addHook('onRequest', (request, reply, done) => {
    request.exchange = connections.begin(request.raw, reply.raw)
    logAtEnd(request, reply)
    reply.header('x-request-id', request.id)
    reply.headers(securityHeaders)
    const fault = headerFault(request.raw)
    done(fault === null ? undefined : new TidemarkError('invalid_request', fault))
  })
  // Before the credential is checked: preflights have none, and a page must be able to read a 401 or 429 too.
  if (parts.corsOrigins.length > 0) {
    await app.register(cors, {
      origin: parts.corsOrigins.includes('*') ? '*' : [...parts.corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      allowedHeaders: [
        ...['authorization', 'content-type', 'idempotency-key', 'x-request-id', 'range', 'if-none-match', 'if-match'],
        // Headers of clients of the Model Context Protocol.
        ...['mcp-protocol-version', 'mcp-session-id'],
      ],
      exposedHeaders: [
        ...['x-request-id', 'ratelimit', 'ratelimit-policy', 'retry-after', 'etag', 'content-range'],
        ...['location', 'tidemark-next-cursor', 'tidemark-changes-cursor'],
      ],
      maxAge: 600,
      // In strict mode the plugin answers an incomplete preflight with its own text instead of our error body.
      strictPreflight: false,
    })
  }

  app.addHook('onRoute', (route) => {
    const { operation, invalid, role, isPublic = false } = route.config ?? {}
    const named = `route ${route.method} ${route.url}`
    if (operation === undefined || invalid === undefined) {
      throw new Error(`${named} does not name its operation and error code`)
    }
    const credential = credentialAt(route.url)
    if (isPublic && credential !== null) throw new Error(`${named} is public, but its path needs a credential`)
    if (!isPublic && credential === null) throw new Error(`${named} is not public, but its path needs no credential`)
    const hasRoles = credential !== null && credentialKinds[credential].role !== null
    if (hasRoles && role === undefined) throw new Error(`${named} does not name the role that it needs`)
    if (!hasRoles && role !== undefined) throw new Error(`${named} needs a role, but its credential has none`)
    if (createsResource(route) && !takesIdempotencyKey(route)) {
      throw new Error(`${named} creates something, but accepts no Idempotency-Key`)
    }
    route.config = { ...route.config!, credential }
    table.add(route.url, route.method)
    if (route.method !== 'HEAD') routes.push(route)
  })
  app.decorate('describe', () => describeRoutes(routes, app.getSchemas()))

  /** Returns a 404, or a 405 if the path exists for another method. */
  const noSuchRoute = (request: FastifyRequest, reply: FastifyReply): TidemarkError => {
    const methods = table.methodsFor(pathOf(request))
    if (methods.length === 0)
      return new TidemarkError('not_found', 'there is nothing at this path: /docs lists every route')
    reply.header('allow', methods.join(', '))
    const message = `${request.method} is not allowed here: use ${methods.join(' or ')}`
    return new TidemarkError('method_not_allowed', message)
  }
  // Before the framework reads a body that no route takes.
  app.addHook('onRequest', (request, reply, done) => done(request.is404 ? noSuchRoute(request, reply) : undefined))
  app.setNotFoundHandler((request, reply) => answer(noSuchRoute(request, reply), request, reply))

  compressAnswers(app)
  admitRequests(app, parts)
  takeIdempotencyKeys(app, parts.claims)
  readBodies(app, parts.bodyTimeoutMs, connections)

  app.setErrorHandler((error, request, reply) => {
    const refusal = errorFrom(error, request.routeOptions.config)
    // The framework would close the connection after every refused body. Only a body that does not arrive needs that.
    if (refusal.code !== 'request_timeout') reply.removeHeader('connection')
    return answer(refusal, request, reply)
  })
  await parts.routes(app)
  return app
}
