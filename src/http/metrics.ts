import { setTimeout as pause } from 'node:timers/promises'
import Counter from 'prom-client/lib/counter.js'
import Gauge from 'prom-client/lib/gauge.js'
import Histogram from 'prom-client/lib/histogram.js'
import Registry from 'prom-client/lib/registry.js'
import { type ErrorCode, errorTable } from '../errors.ts'

/** How often the delay of the event loop is looked at. */
const delaySampleMs = 10

/** What Node says of an event loop that had no turn since it was last asked: the largest number of nanoseconds, or none. */
const unmeasured = /^nodejs_eventloop_lag_\w+ (?:NaN|9223372036\S*)\n/gm

/** What `/metrics` tells, in Prometheus's text form. */
export class Metrics {
  #registry = new Registry()
  #ofProcess: Promise<void> | null = null
  #requests = new Histogram({
    name: 'tidemark_http_request_seconds',
    help: 'Time to answer, by operation and status.',
    labelNames: ['operation', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.#registry],
  })
  #poolMembers = new Gauge({
    name: 'tidemark_pool_members',
    help: 'Threads or processes that serve, by what they do.',
    labelNames: ['pool'] as const,
    registers: [this.#registry],
  })
  #poolReplaced = this.#counter(
    'tidemark_pool_replaced_total',
    'Threads or processes that took the place of one that died.',
    'pool',
  )
  #errors = this.#counter('tidemark_errors_total', 'Answers of 5xx, by their code.', 'code')
  #degraded = this.#counter('tidemark_degraded_answers_total', 'Answers that lack something, by what.', 'warning')
  #background = this.#counter('tidemark_background_failures_total', 'Steps of background jobs that failed.', 'job')

  constructor() {
    // Known from the start, so that the first one is seen as a rise.
    for (const [code, { status }] of Object.entries(errorTable)) if (status >= 500) this.#errors.inc({ code }, 0)
  }

  errorAnswered(code: ErrorCode): void {
    this.#errors.inc({ code })
  }

  answerDegraded(warning: string): void {
    this.#degraded.inc({ warning })
  }

  backgroundFailed(job: string): void {
    this.#background.inc({ job })
  }

  request(operation: string, status: number, seconds: number): void {
    this.#requests.observe({ operation, status }, seconds)
  }

  poolMembers(pool: string, change: 1 | -1): void {
    this.#poolMembers.inc({ pool }, change)
    this.#poolReplaced.inc({ pool }, 0)
  }

  poolReplaced(pool: string): void {
    this.#poolReplaced.inc({ pool })
  }

  /** A value that is read when the metrics are. */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read())
      },
    })
  }

  async text(): Promise<string> {
    this.#ofProcess ??= this.#watchProcess()
    await this.#ofProcess
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

  #counter<Label extends string>(name: string, help: string, label: Label): Counter<Label> {
    return new Counter({ name, help, labelNames: [label], registers: [this.#registry] })
  }
}
