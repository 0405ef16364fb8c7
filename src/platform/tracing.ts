import type { IncomingHttpHeaders } from 'node:http'

/**
 * The port for tracing. Names and attributes of spans are few and fixed. They never contain text of documents or
 * queries, addresses, names or keys.
 */
export interface Tracer {
  /** Runs the work as a span: a child of the current span, or the root of a new trace. */
  span<T>(name: string, work: () => T, attributes?: Attributes): T
  /**
   * Runs the work as a child of the current span. Without one, only runs the work, so that polling loops start no
   * traces.
   */
  childSpan<T>(name: string, work: () => T, attributes?: Attributes): T
  /** Wraps a port so that each call is a child span, named by the prefix and the method. */
  traceMethods<Port extends object>(prefix: string, port: Port, about?: AboutCall): Port
  /** Starts the span of a request, which may name the trace that it belongs to. Returns null if nothing is traced. */
  request(name: string, headers: IncomingHttpHeaders, attributes: Attributes): TracedRequest | null
}

export type Attributes = Readonly<Record<string, string | number>>
export type AboutCall = (method: string, args: readonly unknown[]) => Attributes

/** A traced request. Its span ends when the request is over. */
export interface TracedRequest {
  readonly traceId: string
  /** Runs the work, and everything that it starts, as a part of the request. */
  within(work: () => void): void
  setAttributes(attributes: Attributes): void
  /** `hasFailed` is true if the failure is on our side. */
  end(attributes: Attributes, hasFailed: boolean): void
}

/** The tracer for a process without tracing: runs only the work. */
export const untraced: Tracer = {
  span: (_name, work) => work(),
  childSpan: (_name, work) => work(),
  traceMethods: (_prefix, port) => port,
  request: () => null,
}
