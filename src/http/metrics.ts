import { setTimeout as pause } from 'node:timers/promises'
import type { Metric } from 'prom-client'
import Counter from 'prom-client/lib/counter.js'
import Gauge from 'prom-client/lib/gauge.js'
import Registry from 'prom-client/lib/registry.js'
import { UnavailableError } from '../errors.ts'
import { type Incidents, silentIncidents } from '../incidents.ts'
import type {
  Count,
  Histogram as HistogramSeries,
  Labels,
  Looked,
  Measures,
  Observe,
  Readings,
  Sample,
  Series,
} from '../measures.ts'
import { Distribution } from './distribution.ts'
import { FewNames } from './few-names.ts'

/** How often the delay of the event loop is looked at. */
const delaySampleMs = 10

/** What Node says of an event loop that had no turn since it was last asked: the largest number of nanoseconds, or none. */
const unmeasured = /^nodejs_eventloop_lag_\w+ (?:NaN|9223372036\S*)\n/gm

/** Several who ask within this time are told the same, and nobody waits longer than this for what has to be asked for. */
const lookedAtEveryMs = 2000
const lookWithinMs = 2000

/** What `/metrics` tells, in Prometheus's text form: what every part has said that it measures. */
export class Metrics implements Measures {
  readonly #registry = new Registry()
  readonly #looks: (() => Promise<void>)[] = []
  #ofProcess: Promise<void> | null = null
  #incidents: Incidents = silentIncidents

  /** Who hears of what could not be asked for. */
  reportTo(incidents: Incidents): void {
    this.#incidents = incidents
  }

  counter<Label extends string = never>({ name, help, labels = [], known, anyNumber }: Series<Label>): Count<Label> {
    const counter = new Counter({ name, help, labelNames: [...labels], registers: [this.#registry] })
    for (const one of known ?? []) counter.inc(one, 0)
    if (labels.length === 0) return (_, by) => counter.inc(by)
    if (anyNumber === undefined) return (one, by) => counter.inc(one, by)
    return countFew(counter, anyNumber)
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

  gauges<Name extends string>(series: Looked<Name>, look: () => Promise<Readings<Name>>): void {
    const gauges = Object.entries<Looked<Name>[Name]>(series).map(([name, said]) => {
      const { help, labels } = typeof said === 'string' ? { help: said, labels: [] } : said
      const gauge = new Gauge<string>({ name, help, labelNames: [...labels], registers: [this.#registry] })
      return { name: name as Name, gauge, isLabelled: labels.length > 0 }
    })
    const hide = (): void => {
      for (const one of gauges) show(one, null)
    }
    let lookedAt = Number.NEGATIVE_INFINITY
    let looking: Promise<void> | null = null
    const lookNow = async (): Promise<void> => {
      const read = look().then(
        (readings) => {
          lookedAt = performance.now()
          for (const one of gauges) show(one, readings[one.name])
          this.#incidents.worked('metrics')
        },
        (error: unknown) => {
          hide()
          this.#incidents.failed('metrics', error)
        },
      )
      // One that is late is not begun again before it has ended.
      looking = read.finally(() => {
        looking = null
      })
    }
    this.#looks.push(async () => {
      if (looking === null && performance.now() - lookedAt >= lookedAtEveryMs) void lookNow()
      if (looking === null) return
      const late = new AbortController()
      const isLate = await Promise.race([
        looking.then(() => false),
        pause(lookWithinMs, true, { ref: false, signal: late.signal }).catch(() => false),
      ])
      late.abort()
      if (!isLate) return
      hide()
      this.#incidents.failed('metrics', new UnavailableError(`${gauges[0]!.name}: not known within ${lookWithinMs} ms`))
    })
  }

  async text(): Promise<string> {
    this.#ofProcess ??= this.#watchProcess()
    await Promise.all([this.#ofProcess, ...this.#looks.map((look) => look())])
    return (await this.#registry.metrics()).replace(unmeasured, '')
  }

  /**
   * What Node tells of the process, from when somebody first asks: looking at the event loop wakes an idle process 100
   * times a second. Before the first sample it would tell nonsense.
   */
  async #watchProcess(): Promise<void> {
    const { default: collectDefaultMetrics } = await import('prom-client/lib/defaultMetrics.js')
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: delaySampleMs })
    // It counts from now on; the processor's time is told from the start of the process.
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

/** What is no more is not shown with its last value. */
function show({ gauge, isLabelled }: OwnGauge, value: number | null | readonly Sample[]): void {
  gauge.reset()
  if (typeof value === 'number') gauge.set(value)
  else if (value !== null) for (const sample of value) gauge.set(sample.labels, sample.value)
  // Without labels, reset leaves a 0 behind.
  else if (!isLabelled) gauge.remove()
}

function countFew<Label extends string>(counter: Counter<Label>, anyNumber: Label): Count<Label> {
  const shown = new Map<string, Map<string, Labels<Label>>>()
  const names = new FewNames((left) => {
    for (const labels of shown.get(left)?.values() ?? []) counter.remove(labels)
    shown.delete(left)
  })
  return (given, by) => {
    const name = names.of(given[anyNumber])
    const labels = { ...given, [anyNumber]: name }
    const known = shown.get(name) ?? new Map()
    shown.set(name, known.set(JSON.stringify(labels), labels))
    counter.inc(labels, by)
  }
}
