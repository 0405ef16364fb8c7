import type { Histogram, Labels } from '../platform/measures.ts'

/** Observations with the same labels. */
interface Counted<Label extends string> {
  readonly labels: Labels<Label>
  /** One count for each bucket, not cumulative. The last one counts values above all bounds. */
  readonly counts: number[]
  sum: number
}

/** A tree with one level for each label. The node below the last label has the counts. */
interface Branch<Label extends string> {
  readonly below: Map<string, Branch<Label>>
  counted: Counted<Label> | null
}

const branch = <Label extends string>(): Branch<Label> => ({ below: new Map(), counted: null })

interface Sample {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/**
 * A histogram in the form that prom-client's registry reads. prom-client's own histogram builds a string from the
 * labels and checks their names on every observation, which costs ten times as much as counting.
 */
export class Distribution<Label extends string> {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly #labels: readonly Label[]
  readonly #bounds: readonly number[]
  readonly #root = branch<Label>()
  readonly #all: Counted<Label>[] = []

  constructor({ name, help, labels = [], known = [], buckets }: Histogram<Label>) {
    this.name = name
    this.help = help
    this.#labels = labels
    this.#bounds = buckets
    for (const one of known) this.#countedBy(one)
    if (labels.length === 0) this.#countedBy({} as Labels<Label>)
  }

  observe(labels: Labels<Label>, value: number): void {
    const counted = this.#countedBy(labels)
    let bucket = 0
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket++
    counted.counts[bucket]!++
    counted.sum += value
  }

  /** Called by the registry. */
  get(): { name: string; help: string; type: string; values: Sample[] } {
    const { name, help, type } = this
    return { name, help, type, values: this.#all.flatMap((counted) => this.#samples(counted)) }
  }

  #samples({ labels, counts, sum }: Counted<Label>): Sample[] {
    let count = 0
    const buckets = counts.map((more, i) => {
      count += more
      return { metricName: `${this.name}_bucket`, labels: { le: this.#bounds[i] ?? '+Inf', ...labels }, value: count }
    })
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ]
  }

  #countedBy(labels: Labels<Label>): Counted<Label> {
    let at = this.#root
    for (const label of this.#labels) {
      const value = labels[label]
      let next = at.below.get(value)
      if (next === undefined) {
        next = branch()
        at.below.set(value, next)
      }
      at = next
    }
    at.counted ??= this.#begin(labels)
    return at.counted
  }

  #begin(labels: Labels<Label>): Counted<Label> {
    const counted = { labels: { ...labels }, counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 }
    this.#all.push(counted)
    return counted
  }
}
