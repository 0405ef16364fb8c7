/**
 * The port by which a part says its numbers. `/metrics` shows them, and `docs/metrics.md` has them all: a name is a promise,
 * and a test compares the two. Labels are of few values, known beforehand; `anyNumber` is the way for another.
 */
export interface Measures {
  /** What only grows, from 0 at the start of the process. */
  counter<Label extends string = never>(series: Series<Label>): Count<Label>
  /** How often something was how long or how large. */
  histogram<Label extends string = never>(series: Histogram<Label>): Observe<Label>
  /** What costs next to nothing to know: read whenever somebody asks. Null is not shown. */
  gauge<Label extends string = never>(series: Series<Label>, read: () => number | null | readonly Sample<Label>[]): void
  /**
   * What has to be asked for: all of it together, for all who ask within some seconds, and within a bound of time. What was
   * not there by then, or failed, is not shown.
   */
  gauges<Name extends string>(series: Looked<Name>, look: () => Promise<Readings<Name>>): void
}

export interface Series<Label extends string> {
  readonly name: string
  readonly help: string
  readonly labels?: readonly Label[]
  /** Shown as 0 before anything was counted: otherwise the first is not seen as a rise. */
  readonly known?: readonly Labels<Label>[]
  /** A label that has any number of values: some have a series of their own, and all others one, called `other`. */
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

/** By name: the help, or with labels. */
export type Looked<Name extends string> = Readonly<
  Record<Name, string | { readonly help: string; readonly labels: readonly string[] }>
>
export type Readings<Name extends string> = Readonly<Record<Name, number | null | readonly Sample[]>>

/** In seconds: from what a cache answers within to what nobody waits for. */
export const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** For what runs where nobody asks. */
export const silentMeasures: Measures = {
  counter: () => () => {},
  histogram: () => () => {},
  gauge: () => {},
  gauges: () => {},
}
