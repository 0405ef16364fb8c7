import type { TimeBucket } from '../../../platform/time-buckets.ts'
import { type InputDocument, inputTooLarge } from '../../algorithm.ts'
import { ExactSum } from './exact-sum.ts'
import { bucketOf, keyCount, keysOf, type RollupField } from './rollup-keys.ts'

export interface RollupGroup {
  readonly key: readonly (string | null)[]
  readonly bucket: Date | null
  documents: number
  readonly authors: Set<string>
  readonly score: ExactSum
  readonly metrics: Map<string, ExactSum>
}

const rollupLimits = {
  /** Limits groups, and groups times metrics, because of memory. */
  groupsMax: 300_000,
  sumsMax: 5_000_000,
  /** Limits the combinations of values over all documents, because of time. */
  combinationsMax: 50_000_000,
} as const

/** Counts documents by their values. A document counts in every group that it belongs to. */
export class RollupGroups {
  readonly metrics = new Set<string>()
  readonly #groups = new Map<string, RollupGroup>()
  readonly #by: readonly RollupField[]
  readonly #bucket: TimeBucket | null
  readonly #limits: Readonly<Record<keyof typeof rollupLimits, number>>
  #combinations = 0

  constructor(
    by: readonly RollupField[],
    bucket: TimeBucket | null,
    limits: Readonly<Record<keyof typeof rollupLimits, number>> = rollupLimits,
  ) {
    this.#by = by
    this.#bucket = bucket
    this.#limits = limits
  }

  add(document: InputDocument): void {
    const { publishedAt } = document
    const metrics = Object.entries(document.metrics)
    for (const [name] of metrics) this.metrics.add(name)
    this.#combinations += keyCount(document, this.#by)
    this.#checkSize()
    const bucket = this.#bucket === null || publishedAt === null ? null : bucketOf(publishedAt, this.#bucket)
    for (const key of keysOf(document, this.#by)) {
      const group = this.#group(key, bucket)
      group.documents++
      if (document.authorId !== null) group.authors.add(JSON.stringify([document.platform, document.authorId]))
      if (document.score !== null) group.score.add(document.score)
      for (const [name, value] of metrics) {
        const sum = group.metrics.get(name) ?? new ExactSum()
        sum.add(value)
        group.metrics.set(name, sum)
      }
    }
  }

  /** Returns the groups by key, then by time, null first. */
  inOrder(): RollupGroup[] {
    return [...this.#groups.values()].sort(byKeyAndTime)
  }

  #group(key: readonly (string | null)[], bucket: Date | null): RollupGroup {
    const name = JSON.stringify([key, bucket])
    const found = this.#groups.get(name)
    if (found !== undefined) return found
    const group = { key, bucket, documents: 0, authors: new Set<string>(), score: new ExactSum(), metrics: new Map() }
    this.#groups.set(name, group)
    this.#checkSize()
    return group
  }

  #checkSize(): void {
    const { groupsMax, sumsMax, combinationsMax } = this.#limits
    const groups = this.#groups.size
    if (groups > groupsMax || groups * this.metrics.size > sumsMax || this.#combinations > combinationsMax) {
      throw inputTooLarge('the rollup has too many combinations: narrow input_scope, or name fewer fields in by')
    }
  }
}

function byKeyAndTime(a: RollupGroup, b: RollupGroup): number {
  for (const [i, value] of a.key.entries()) {
    const other = b.key[i]!
    if (value === other) continue
    return value === null || (other !== null && value < other) ? -1 : 1
  }
  const time = ({ bucket }: RollupGroup): number => bucket?.getTime() ?? Number.NEGATIVE_INFINITY
  return time(a) < time(b) ? -1 : 1
}
