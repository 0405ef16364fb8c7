import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type TracedRequest, type Tracer, untraced } from '../platform/tracing.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** null if the request is not traced. */
    trace: TracedRequest | null
  }
}

/**
 * A request is one span, and the spans of its work are children. This is the first hook, so that all others run within
 * the span. Probes, scrapes and the console's files are frequent and trivial, so they are not traced.
 */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  app.decorateRequest('trace', null)
  if (tracer === untraced) return
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, routeOptions, headers, id } = request
    if (routeOptions.config.isPublic === true || routeOptions.config.isMonitoring === true) return done()
    // An unknown path can contain anything, a secret too, so it is not recorded.
    const route = request.is404 ? undefined : routeOptions.url
    const name = route === undefined ? method : `${method} ${route}`
    request.trace = tracer.request(name, headers, {
      'http.request.method': method,
      ...(route === undefined ? {} : { 'http.route': route }),
      'tidemark.request_id': id,
    })
    within(request, done)
  })
  // A body is read in events of its connection, which run outside the request's context.
  app.addHook('preValidation', (request, _reply, done) => within(request, done))
}

function within({ trace }: FastifyRequest, done: () => void): void {
  if (trace === null) done()
  else trace.within(done)
}
