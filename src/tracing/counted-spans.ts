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
const tellEveryMs = 60_000

/** The longest time that shutdown waits for the last spans. */
const flushWithinMs = 5000

/**
 * Sends batches of spans to the collector. Spans that wait and spans that are being sent share one limit, and spans above
 * it are dropped and counted. The library limits only those that wait, and does not count those it drops.
 */
export class CountedSpans implements SpanProcessor {
  readonly #batches: BatchSpanProcessor
  readonly #queueMax: number
  readonly #count: Count<'outcome'>
  readonly #logger: Log
  readonly #rejected = new RejectedSpans()
  #held = 0
  #untold = 0
  #toldAt = Number.NEGATIVE_INFINITY

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
        export: (spans, told) => this.#export(exporter, settings.exportTimeoutMs, spans, told),
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
      this.#lost('queue_full', 1, 'the collector is slower than spans arrive')
      return
    }
    this.#held++
    this.#batches.onEnd(span)
  }

  async forceFlush(): Promise<void> {
    await this.#batches.forceFlush()
  }

  /** Sends the remaining spans, as far as time allows. */
  async shutdown(): Promise<void> {
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, flushWithinMs)
    // A failed batch is counted where it fails.
    const flushed = this.#batches.shutdown().catch(() => {})
    await Promise.race([flushed, late.promise])
    clearTimeout(timer)
    if (this.#held > 0) this.#lost('not_sent', this.#held, `not sent within ${flushWithinMs} ms at shutdown`)
    if (this.#untold > 0) this.#tell('the process ends')
  }

  #export(
    exporter: SpanExporter,
    timeoutMs: number,
    spans: ReadableSpan[],
    told: (result: ExportResult) => void,
  ): void {
    let isOver = false
    const over = (result: ExportResult): void => {
      const rejected = this.#rejected.take(spans.length)
      if (isOver) return
      isOver = true
      clearTimeout(late)
      this.#held -= spans.length
      if (result.code === ExportResultCode.SUCCESS) {
        this.#count({ outcome: 'sent' }, spans.length - rejected)
        if (rejected > 0) this.#lost('rejected', rejected, 'the collector took the batch and rejected these')
      } else this.#lost('not_sent', spans.length, reasonOf(result.error))
      told(result)
    }
    const late = setTimeout(
      () => over({ code: ExportResultCode.FAILED, error: new Error(`no answer within ${timeoutMs} ms`) }),
      timeoutMs,
    ).unref()
    exporter.export(spans, over)
  }

  #lost(outcome: Outcome, spans: number, reason: string): void {
    this.#count({ outcome }, spans)
    this.#untold += spans
    if (performance.now() - this.#toldAt >= tellEveryMs) this.#tell(reason)
  }

  #tell(reason: string): void {
    this.#logger.warn({ spans: this.#untold, reason }, 'spans of traces are dropped; /metrics counts them')
    this.#toldAt = performance.now()
    this.#untold = 0
  }
}

/** Does not repeat the answer of the collector, which may be a page of another server. */
function reasonOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  if (typeof code === 'number') return `the collector answered ${code}`
  return typeof code === 'string' ? `the collector cannot be reached (${code})` : (error?.message ?? 'no reason')
}
