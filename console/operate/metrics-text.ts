/** One line of `/metrics`, in the Prometheus text format. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}
export type Series = ReadonlyMap<string, readonly Sample[]>

const line = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/
const label = /(\w+)="((?:\\.|[^"\\])*)"/g
const escapes: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' }

export function readMetrics(text: string): Series {
  const series = new Map<string, Sample[]>()
  for (const one of text.split('\n')) {
    const found = line.exec(one)
    if (found === null) continue
    const [, name, within = '', value] = found
    const labels: Record<string, string> = {}
    for (const [, key, raw] of within.matchAll(label))
      labels[key!] = raw!.replace(/\\["\\n]/g, (found) => escapes[found]!)
    const samples = series.get(name!) ?? []
    samples.push({ labels, value: Number(value === '+Inf' ? Number.POSITIVE_INFINITY : value) })
    series.set(name!, samples)
  }
  return series
}

/** Returns the value of a metric without labels; null if there is none. */
export const soleValue = (series: Series, name: string): number | null => series.get(name)?.[0]?.value ?? null

/** The requests of one operation: their number, how many failed with 5xx, and the histogram of their durations. */
export interface OperationStats {
  readonly operation: string
  readonly requests: number
  readonly failures: number
  /** Cumulative counts by upper bound in seconds, ascending. */
  readonly within: readonly (readonly [seconds: number, requests: number])[]
}

const histogram = 'tidemark_http_request_seconds'

export function statsByOperation(series: Series): ReadonlyMap<string, OperationStats> {
  const found = new Map<string, { requests: number; failures: number; within: Map<number, number> }>()
  const of = (operation: string) => {
    const known = found.get(operation) ?? { requests: 0, failures: 0, within: new Map<number, number>() }
    found.set(operation, known)
    return known
  }
  for (const { labels, value } of series.get(`${histogram}_count`) ?? []) {
    const one = of(labels.operation ?? '')
    one.requests += value
    if (Number(labels.status) >= 500) one.failures += value
  }
  for (const { labels, value } of series.get(`${histogram}_bucket`) ?? []) {
    const { within } = of(labels.operation ?? '')
    const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le)
    within.set(bound, (within.get(bound) ?? 0) + value)
  }
  return new Map(
    [...found].map(([operation, { requests, failures, within }]) => [
      operation,
      { operation, requests, failures, within: [...within].sort(([a], [b]) => a - b) },
    ]),
  )
}

/** Returns the buckets of a histogram without other labels. */
export const bucketsOf = (series: Series, name: string): Pick<OperationStats, 'within'> => ({
  within: (series.get(`${name}_bucket`) ?? [])
    .map(({ labels, value }) => [labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le), value] as const)
    .sort(([a], [b]) => a - b),
})

/** Returns the increase between two scrapes. After a restart, which resets the counters, returns the later counts. */
export function increaseSince(before: OperationStats | undefined, now: OperationStats): OperationStats {
  if (before === undefined || before.requests > now.requests) return now
  const earlier = new Map(before.within)
  return {
    operation: now.operation,
    requests: now.requests - before.requests,
    failures: now.failures - before.failures,
    within: now.within.map(([bound, requests]) => [bound, requests - (earlier.get(bound) ?? 0)]),
  }
}

/** The bucket of a histogram that contains a quantile. */
export interface BucketBounds {
  readonly moreThan: number
  /** Infinite for the last bucket, which has no upper bound. */
  readonly atMost: number
  /** The position of the quantile between the bounds, from 0 to 1, if values are spread evenly. */
  readonly part: number
}

/** Returns the bucket of a quantile (0.95, for example); null if there are no values. */
export function quantile({ within }: Pick<OperationStats, 'within'>, share: number): BucketBounds | null {
  const total = within.at(-1)?.[1] ?? 0
  if (total === 0) return null
  const at = within.findIndex(([, requests]) => requests >= share * total)
  const [atMost, requests] = within[at]!
  const [moreThan, fewer] = within[at - 1] ?? [0, 0]
  return { moreThan, atMost, part: requests === fewer ? 1 : (share * total - fewer) / (requests - fewer) }
}
