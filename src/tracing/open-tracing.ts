import { hostname } from 'node:os'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Log } from '../platform/log.ts'
import type { Measures } from '../platform/measures.ts'
import type { Tracer } from '../platform/tracing.ts'
import { version } from '../platform/version.ts'
import type { SamplerName, TracingSettings } from '../settings/tracing-settings.ts'
import { CountedSpans } from './counted-spans.ts'
import { SpanTracer } from './span-tracer.ts'
import { traceOutbound } from './trace-outbound.ts'

export interface OpenTracing {
  readonly tracer: Tracer
  /** Sends the remaining spans, within a time limit. */
  close(): Promise<void>
}

export async function openTracing(settings: TracingSettings, measures: Measures, logger: Log): Promise<OpenTracing> {
  const spans = new CountedSpans(await exporterOf(settings), settings, measures, logger)
  const { resource, serviceName } = settings
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'tidemark',
      'service.version': version,
      'host.name': hostname(),
      'process.pid': process.pid,
      ...resource,
      ...(serviceName === null ? {} : { 'service.name': serviceName }),
    }),
    sampler: samplerOf(settings.sampler, settings.ratio),
    spanProcessors: [spans],
  })
  const tracer = new SpanTracer(provider, settings.propagates)
  const stopOutbound = traceOutbound(tracer)
  return {
    tracer,
    async close() {
      stopOutbound()
      await provider.shutdown()
    },
  }
}

async function exporterOf(settings: TracingSettings): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    settings.protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  const { endpoint, headers, timeoutMs, compression, tls, queueMax, batchMax } = settings
  return new OTLPTraceExporter({
    url: endpoint,
    headers,
    timeoutMillis: timeoutMs,
    compression: compression as never,
    httpAgentOptions: { keepAlive: true, ...tls },
    // At shutdown all batches are sent at once.
    concurrencyLimit: Math.ceil(queueMax / batchMax),
  })
}

function samplerOf(name: SamplerName, ratio: number): Sampler {
  const roots = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => new TraceIdRatioBasedSampler(ratio),
  }
  const root = roots[name.replace('parentbased_', '') as keyof typeof roots]()
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}
