import { setTimeout as pause } from 'node:timers/promises'
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import { UnavailableError } from '../platform/errors.ts'
import { type Incidents, silentIncidents } from '../platform/incidents.ts'
import type {
  Count,
  GaugeSeries,
  Histogram as HistogramSeries,
  Labels,
  Measures,
  Observe,
  Readings,
  Sample,
  Series,
} from '../platform/measures.ts'
import { BoundedLabel } from './bounded-label.ts'
import { Distribution } from './distribution.ts'

/** How often the delay of the event loop is sampled. */
const delaySampleMs = 10

/**
 * Node's values for an event loop that had no iteration since the last reading: the largest number of nanoseconds, or
 * NaN.
 */
const unmeasured = /^nodejs_eventloop_lag_\w+ (?:NaN|9223372036\S*)\n/gm

/** Values that must be fetched are cached for this time, and a scrape waits at most this long for them. */
const cachedForMs = 2000
const fetchWithinMs = 2000

/** The content of `/metrics` in Prometheus's text format: all registered measurements. */
export class Metrics implements Measures {
  readonly #registry = new Registry()
  readonly #fetches: (() => Promise<void>)[] = []
  #processMetrics: Promise<void> | null = null
  #incidents: Incidents = silentIncidents

  /** Sets where failures to fetch a value are reported. */
  reportTo(incidents: Incidents): void {
    this.#incidents = incidents
  }

  counter<Label extends string = never>({ name, help, labels = [], known, anyNumber }: Series<Label>): Count<Label> {
    const counter = new Counter({ name, help, labelNames: [...labels], registers: [this.#registry] })
    for (const one of known ?? []) counter.inc(one, 0)
    if (labels.length === 0) return (_, by) => counter.inc(by)
    if (anyNumber === undefined) return (one, by) => counter.inc(one, by)
    return countBounded(counter, anyNumber)
  }

  histogram<Label extends string = never>(series: HistogramSeries<Label>): Observe<Label> {
    const distribution = new Distribution(series)
    this.#registry.registerMetric(distribution as unknown as Metric)
    return (labels, value) => distribution.observe(labels, value)
  }

  gauge<Label extends string = never>(
    { name, help, labels = [] }: Series<Label>,
    read: () => number | null | readonly Sample<Label>[],
  ): void {
    const isLabelled = labels.length > 0
    new Gauge<string>({
      name,
      help,
      labelNames: [...labels],
      registers: [this.#registry],
      collect() {
        show({ gauge: this, isLabelled }, read())
      },
    })
  }

  gauges<Name extends string>(series: GaugeSeries<Name>, fetch: () => Promise<Readings<Name>>): void {
    const gauges = Object.entries<GaugeSeries<Name>[Name]>(series).map(([name, definition]) => {
      const { help, labels } = typeof definition === 'string' ? { help: definition, labels: [] } : definition
      const gauge = new Gauge<string>({ name, help, labelNames: [...labels], registers: [this.#registry] })
      return { name: name as Name, gauge, isLabelled: labels.length > 0 }
    })
    const hide = (): void => {
      for (const one of gauges) show(one, null)
    }
    let fetchedAt = Number.NEGATIVE_INFINITY
    let fetching: Promise<void> | null = null
    const startFetch = async (): Promise<void> => {
      const read = fetch().then(
        (readings) => {
          fetchedAt = performance.now()
          for (const one of gauges) show(one, readings[one.name])
          this.#incidents.worked('metrics')
        },
        (error: unknown) => {
          hide()
          this.#incidents.failed('metrics', error)
        },
      )
      // A fetch that takes long is not started again before it has ended.
      fetching = read.finally(() => {
        fetching = null
      })
    }
    this.#fetches.push(async () => {
      if (fetching === null && performance.now() - fetchedAt >= cachedForMs) void startFetch()
      if (fetching === null) return
      const late = new AbortController()
      const isLate = await Promise.race([
        fetching.then(() => false),
        pause(fetchWithinMs, true, { ref: false, signal: late.signal }).catch(() => false),
      ])
      late.abort()
      if (!isLate) return
      hide()
      this.#incidents.failed('metrics', new UnavailableError(`${gauges[0]!.name}: no value within ${fetchWithinMs} ms`))
    })
  }

  async text(): Promise<string> {
    this.#processMetrics ??= this.#watchProcess()
    await Promise.all([this.#processMetrics, ...this.#fetches.map((fetch) => fetch())])
    return (await this.#registry.metrics()).replace(unmeasured, '')
  }

  /**
   * Collects Node's process metrics from the first scrape on, because sampling the event loop wakes an idle process 100
   * times a second. Values from before the first sample would be wrong.
   */
  async #watchProcess(): Promise<void> {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: delaySampleMs })
    // The collector counts from now on, so the processor time since the start of the process is added.
    const { user, system } = process.cpuUsage()
    for (const [kind, used] of Object.entries({ user_: user, system_: system, '': user + system })) {
      const counter = this.#registry.getSingleMetric(`process_cpu_${kind}seconds_total`) as Counter
      counter.inc(used / 1e6)
    }
    await pause(2 * delaySampleMs)
  }
}

interface OwnGauge {
  readonly gauge: Gauge
  readonly isLabelled: boolean
}

/** Removes series that no longer exist, so that they do not keep their last value. */
function show({ gauge, isLabelled }: OwnGauge, value: number | null | readonly Sample[]): void {
  gauge.reset()
  if (typeof value === 'number') gauge.set(value)
  else if (value !== null) for (const sample of value) gauge.set(sample.labels, sample.value)
  // Without labels, reset leaves a 0.
  else if (!isLabelled) gauge.remove()
}

function countBounded<Label extends string>(counter: Counter<Label>, anyNumber: Label): Count<Label> {
  const shown = new Map<string, Map<string, Labels<Label>>>()
  const names = new BoundedLabel((dropped) => {
    for (const labels of shown.get(dropped)?.values() ?? []) counter.remove(labels)
    shown.delete(dropped)
  })
  return (given, by) => {
    const name = names.of(given[anyNumber])
    const labels = { ...given, [anyNumber]: name }
    const known = shown.get(name) ?? new Map()
    shown.set(name, known.set(JSON.stringify(labels), labels))
    counter.inc(labels, by)
  }
}
