import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Span, SpanKind } from '@opentelemetry/api'
import { codeOf, endSpan, type SpanTracer } from './span-tracer.ts'

/** An event of undici, from the package or from the copy in Node that `fetch` uses. */
interface UndiciEvent {
  readonly request: {
    readonly method: string
    readonly origin?: string | URL | null
    addHeader(name: string, value: string): unknown
  }
  readonly response?: { readonly statusCode: number }
  readonly error?: unknown
}

/**
 * Traces requests to other servers: the embedding and rerank endpoints, the search cluster. Each is a span and
 * propagates the trace. Undici publishes events for its requests, so callers need no tracing code. Paths and bodies are
 * not recorded.
 */
export function traceOutbound(tracer: SpanTracer): () => void {
  const open = new WeakMap<object, Span>()
  const listeners = {
    create({ request }: UndiciEvent) {
      const { current } = tracer
      if (current === undefined) return
      const url = URL.parse(String(request.origin))
      const sent = tracer.child(`HTTP ${request.method}`, SpanKind.CLIENT, {
        'http.request.method': request.method,
        ...(url === null ? {} : { 'server.address': url.hostname, 'server.port': portOf(url) }),
      })
      if (sent !== null) open.set(request, sent.span)
      for (const [name, value] of Object.entries(tracer.headersFor(sent ?? current))) request.addHeader(name, value)
    },
    headers({ request, response }: UndiciEvent) {
      const status = response!.statusCode
      open.get(request)?.setAttribute('http.response.status_code', status)
      if (status >= 400) end(request, String(status))
    },
    trailers: ({ request }: UndiciEvent) => end(request, null),
    error: ({ request, error }: UndiciEvent) => end(request, codeOf(error)),
  }
  const end = (request: object, failure: string | null): void => {
    const span = open.get(request)
    if (span === undefined) return
    open.delete(request)
    endSpan(span, failure)
  }
  const subscribed = Object.entries(listeners).map(([event, listen]) => {
    const channel = `undici:request:${event}`
    const listener = (event: unknown): void => listen(event as UndiciEvent)
    subscribe(channel, listener)
    return () => unsubscribe(channel, listener)
  })
  return () => {
    for (const stop of subscribed) stop()
  }
}

const portOf = ({ port, protocol }: URL): number => (port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port))
