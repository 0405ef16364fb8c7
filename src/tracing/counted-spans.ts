import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type Span,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../platform/log.ts'
import type { Count, Measures } from '../platform/measures.ts'
import type { TracingSettings } from '../settings/tracing-settings.ts'
import { RejectedSpans } from './rejected-spans.ts'

type Outcome = 'sent' | 'queue_full' | 'not_sent' | 'rejected'
const outcomes: readonly Outcome[] = ['sent', 'queue_full', 'not_sent', 'rejected']

/** The shortest time between two log lines about a collector that is unavailable. */
const reportEveryMs = 60_000

/** The longest time that shutdown waits for the last spans. */
const flushWithinMs = 5000

/**
 * Sends batches of spans to the collector. Waiting spans and spans that are being sent share one limit. Spans above it
 * are dropped and counted. The library limits only waiting spans, and does not count dropped ones.
 */
export class CountedSpans implements SpanProcessor {
  readonly #batches: BatchSpanProcessor
  readonly #queueMax: number
  readonly #count: Count<'outcome'>
  readonly #logger: Log
  readonly #rejected = new RejectedSpans()
  #held = 0
  #unreported = 0
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(exporter: SpanExporter, settings: TracingSettings, measures: Measures, logger: Log) {
    this.#queueMax = settings.queueMax
    this.#logger = logger
    this.#count = measures.counter({
      name: 'tidemark_trace_spans_total',
      help: 'Spans of traces, by whether they were sent.',
      labels: ['outcome'],
      known: outcomes.map((outcome) => ({ outcome })),
    })
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => this.#export(exporter, settings.exportTimeoutMs, spans, done),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: settings.queueMax,
      maxExportBatchSize: settings.batchMax,
      scheduledDelayMillis: settings.delayMs,
      exportTimeoutMillis: settings.exportTimeoutMs,
    })
  }

  onStart(_span: Span): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#held >= this.#queueMax) {
      this.#lost('queue_full', 1, 'spans arrive faster than the collector accepts them')
      return
    }
    this.#held++
    this.#batches.onEnd(span)
  }

  async forceFlush(): Promise<void> {
    await this.#batches.forceFlush()
  }

  /** Sends the remaining spans, within a time limit. */
  async shutdown(): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, flushWithinMs)
    // A failed batch was already counted in `#export`.
    const flushed = this.#batches.shutdown().catch(() => {})
    await Promise.race([flushed, late.promise])
    clearTimeout(timer)
    if (this.#held > 0) this.#lost('not_sent', this.#held, `not sent within ${flushWithinMs} ms at shutdown`)
    if (this.#unreported > 0) this.#report('the process ends')
  }

  #export(
    exporter: SpanExporter,
    timeoutMs: number,
    spans: ReadableSpan[],
    done: (result: ExportResult) => void,
  ): void {
    let isDone = false
    const finish = (result: ExportResult): void => {
      const rejected = this.#rejected.take(spans.length)
      if (isDone) return
      isDone = true
      clearTimeout(late)
      this.#held -= spans.length
      if (result.code === ExportResultCode.SUCCESS) {
        this.#count({ outcome: 'sent' }, spans.length - rejected)
        if (rejected > 0) this.#lost('rejected', rejected, 'the collector accepted the batch, but rejected these spans')
      } else this.#lost('not_sent', spans.length, reasonOf(result.error))
      done(result)
    }
    const late = setTimeout(
      () => finish({ code: ExportResultCode.FAILED, error: new Error(`no answer within ${timeoutMs} ms`) }),
      timeoutMs,
    ).unref()
    exporter.export(spans, finish)
  }

  #lost(outcome: Outcome, spans: number, reason: string): void {
    this.#count({ outcome }, spans)
    this.#unreported += spans
    if (performance.now() - this.#reportedAt >= reportEveryMs) this.#report(reason)
  }

  #report(reason: string): void {
    this.#logger.warn({ spans: this.#unreported, reason }, 'spans of traces are dropped; /metrics counts them')
    this.#reportedAt = performance.now()
    this.#unreported = 0
  }
}

/** Does not repeat the response body, which may be a page of another server. */
function reasonOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  if (typeof code === 'number') return `the collector answered ${code}`
  return typeof code === 'string' ? `the collector cannot be reached (${code})` : (error?.message ?? 'unknown reason')
}
