/**
 * The port for metrics. `/metrics` shows them and `docs/metrics.md` lists them, and a test compares the two. The names
 * are stable. Labels have few values, known in advance; use `anyNumber` for others.
 */
export interface Measures {
  /** A value that only grows, from 0 at the start of the process. */
  counter<Label extends string = never>(series: Series<Label>): Count<Label>
  /** A distribution of durations or sizes. */
  histogram<Label extends string = never>(series: Histogram<Label>): Observe<Label>
  /** A value that is cheap to read. It is read at each scrape. Null is not shown. */
  gauge<Label extends string = never>(series: Series<Label>, read: () => number | null | readonly Sample<Label>[]): void
  /**
   * Values that are expensive to read. They are read together, are cached for some seconds, and have a time limit. If
   * the read is late or fails, they are not shown.
   */
  gauges<Name extends string>(series: GaugeSeries<Name>, fetch: () => Promise<Readings<Name>>): void
}

export interface Series<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labels?: readonly Label[]
  /** Shown as 0 before the first count. Otherwise the first count would not be seen as an increase. */
  readonly known?: readonly Labels<Label>[]
  /** A label with any number of values. Some have their own series, and all others share one, called `other`. */
  readonly anyNumber?: Label
}

export interface Histogram<Label extends string> extends Series<Label> {
  readonly buckets: readonly number[]
}

export type Labels<Label extends string> = Readonly<Record<Label, string>>
export type Count<Label extends string> = (labels: Labels<Label>, by?: number) => void
export type Observe<Label extends string> = (labels: Labels<Label>, value: number) => void

export interface Sample<Label extends string = string> {
  readonly labels: Labels<Label>
  readonly value: number
}

/** The help texts of gauges by name, alone or with labels. */
export type GaugeSeries<Name extends string> = Readonly<
  Record<Name, string | { readonly help: string; readonly labels: readonly string[] }>
>
export type Readings<Name extends string> = Readonly<Record<Name, number | null | readonly Sample[]>>

/** In seconds: from the time of a cached answer to longer than any caller waits. */
export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** For code that runs without metrics. */
export const silentMeasures: Measures = {
  counter: () => () => {},
  histogram: () => () => {},
  gauge: () => {},
  gauges: () => {},
}
