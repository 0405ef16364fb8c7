import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingHttpHeaders } from 'node:http'
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import type { TracerProvider } from '@opentelemetry/sdk-trace'
import type { AboutCall, Attributes, TracedRequest, Tracer } from '../platform/tracing.ts'
import { version } from '../platform/version.ts'

/** An analysis run or an export reads the store thousands of times. A longer trace would be of no use. */
const spansMax = 1000

/** An open span, and the root span of its trace in this process. */
export interface OpenSpan {
  readonly context: Context
  readonly span: Span
  readonly root: Root
}

interface Root {
  /** Whether the root span has ended. A timer that was set within it may still run, but is not a part of it then. */
  isEnded: boolean
  spansLeft: number
  omitted: number
}

/** A tracer on OpenTelemetry. The current span follows the asynchronous calls of its work. */
export class SpanTracer implements Tracer {
  readonly #spans: ReturnType<TracerProvider['getTracer']>
  readonly #propagator: W3CTraceContextPropagator | null
  readonly #current = new AsyncLocalStorage<OpenSpan>()
  readonly #ports = new WeakMap<object, object>()

  constructor(provider: TracerProvider, propagates: boolean) {
    this.#spans = provider.getTracer('tidemark', version)
    this.#propagator = propagates ? new W3CTraceContextPropagator() : null
  }

  /** undefined outside a trace. */
  get current(): OpenSpan | undefined {
    const found = this.#current.getStore()
    return found?.root.isEnded === true ? undefined : found
  }

  span<T>(name: string, work: () => T, attributes: Attributes = {}): T {
    if (this.current !== undefined) return this.childSpan(name, work, attributes)
    const started = this.#begin(name, ROOT_CONTEXT, SpanKind.INTERNAL, attributes)
    return this.#current.run(started, () => whenSettled(work, (failure) => endRoot(started, failure)))
  }

  childSpan<T>(name: string, work: () => T, attributes: Attributes = {}): T {
    const started = this.child(name, SpanKind.INTERNAL, attributes)
    if (started === null) return work()
    return this.#current.run(started, () => whenSettled(work, (failure) => endSpan(started.span, failure)))
  }

  /** Returns null if there is no trace, the trace is not sampled, or its span limit is reached. */
  child(name: string, kind: SpanKind, attributes: Attributes): OpenSpan | null {
    const above = this.current
    if (above === undefined || !above.span.isRecording()) return null
    const { root } = above
    if (root.spansLeft === 0) {
      root.omitted++
      return null
    }
    root.spansLeft--
    const span = this.#spans.startSpan(name, { kind, attributes }, above.context)
    return { context: trace.setSpan(above.context, span), span, root }
  }

  traceMethods<Port extends object>(prefix: string, port: Port, about: AboutCall = () => ({})): Port {
    const known = this.#ports.get(port)
    if (known !== undefined) return known as Port
    const methods = new Map<string | symbol, unknown>()
    const traced = new Proxy(port, {
      get: (target, key) => {
        const value: unknown = methods.get(key) ?? Reflect.get(target, key, target)
        if (typeof value !== 'function' || typeof key === 'symbol' || methods.has(key)) return value
        const method = (...args: readonly unknown[]) =>
          this.childSpan(`${prefix}${key}`, () => value.apply(target, args), about(key, args))
        methods.set(key, method)
        return method
      },
    })
    this.#ports.set(port, traced)
    return traced
  }

  /** Returns the headers for a request to another server, so that its spans join the trace. */
  headersFor({ context }: OpenSpan): Readonly<Record<string, string>> {
    const headers: Record<string, string> = {}
    this.#propagator?.inject(context, headers, defaultTextMapSetter)
    return headers
  }

  request(name: string, headers: IncomingHttpHeaders, attributes: Attributes): TracedRequest {
    const within = this.#current
    // A request from a route to another route of this process belongs to the outer request, whether that is sampled or
    // not.
    const above = this.current
    const inner = this.child(name, SpanKind.SERVER, attributes)
    if (above !== undefined && inner === null) {
      const { traceId } = above.span.spanContext()
      return { traceId, within: (work) => work(), setAttributes: () => {}, end: () => {} }
    }
    const started = inner ?? this.#begin(name, this.#contextOf(headers), SpanKind.SERVER, attributes)
    const { span } = started
    return {
      traceId: span.spanContext().traceId,
      within: (work) => within.run(started, work),
      setAttributes: (more) => void span.setAttributes(more),
      end(more, hasFailed) {
        span.setAttributes(more)
        if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
        if (inner === null) endRoot(started, null)
        else span.end()
      },
    }
  }

  #contextOf(headers: IncomingHttpHeaders): Context {
    return this.#propagator?.extract(ROOT_CONTEXT, headers, defaultTextMapGetter) ?? ROOT_CONTEXT
  }

  #begin(name: string, parent: Context, kind: SpanKind, attributes: Attributes): OpenSpan {
    const span = this.#spans.startSpan(name, { kind, attributes }, parent)
    return {
      context: trace.setSpan(parent, span),
      span,
      root: { isEnded: false, spansLeft: spansMax - 1, omitted: 0 },
    }
  }
}

/** Calls `settled` once when the work has ended, with the code of a failure. */
function whenSettled<T>(work: () => T, settled: (failure: string | null) => void): T {
  let result: T
  try {
    result = work()
  } catch (error) {
    settled(codeOf(error))
    throw error
  }
  if (!(result instanceof Promise)) {
    settled(failureIn(result))
    return result
  }
  return result.then(
    (value) => {
      settled(failureIn(value))
      return value
    },
    (error) => {
      settled(codeOf(error))
      throw error
    },
  ) as T
}

function endRoot({ span, root }: OpenSpan, failure: string | null): void {
  root.isEnded = true
  if (root.omitted > 0) span.setAttribute('tidemark.spans_omitted', root.omitted)
  endSpan(span, failure)
}

/** Records only the code of a failure, because messages can contain texts from the request. */
export function endSpan(span: Span, failure: string | null): void {
  if (failure !== null) {
    span.setStatus({ code: SpanStatusCode.ERROR })
    span.setAttribute('error.type', failure)
  }
  span.end()
}

/** A search index reports a failure in its result and does not throw. */
function failureIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('outcome' in value)) return null
  return value.outcome === 'unavailable' || value.outcome === 'timed_out' ? value.outcome : null
}

export function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  return [code, name].find((one): one is string => typeof one === 'string' && /^\w{1,64}$/.test(one)) ?? 'error'
}
