import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

/** What `/metrics` tells, in Prometheus's text form. */
export class Metrics {
  #registry = new Registry()
  #requests = new Histogram({
    name: 'tidemark_http_request_seconds',
    help: 'Time to answer, by operation and status.',
    labelNames: ['operation', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.#registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
  }

  request(operation: string, status: number, seconds: number): void {
    this.#requests.observe({ operation, status }, seconds)
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

  text(): Promise<string> {
    return this.#registry.metrics()
  }
}
