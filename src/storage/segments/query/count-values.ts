import { facetRowOf } from '../../../document/rows.ts'
import { columnOf, type GuardedColumn } from '../../../search/column-permissions.ts'
import { bucketOfDay, dayOf, type Facet, type ValueCount } from '../../../search/facets.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import { compareBytes, type SegmentData } from '../format/segment-data.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'
import type { MatchingDocuments } from './matching-documents.ts'

/** The days from 1800 to 2200 are counted in an array, the few others in a map. */
const firstDay = -62_091
const daysCounted = 146_097

/** The values to return, and their order. */
export interface Selection {
  readonly limit: number
  /** Order by value; otherwise by descending count, and then by value. */
  readonly byValue: boolean
  /** The prefix of the values, in UTF-8. */
  readonly prefix: Uint8Array
  /** Only values after this one. */
  readonly after: Uint8Array | null
}

/** The most frequent values. */
export const mostFrequent = (limit: number): Selection => ({
  limit,
  byValue: false,
  prefix: new Uint8Array(),
  after: null,
})

/** Counts documents by their values, segment by segment. */
interface Counter {
  /** The column whose opened documents must be marked before they are added (`MatchingDocuments.opened`). */
  readonly column: GuardedColumn | null
  add(data: SegmentData, matching: MatchingDocuments): void
  select(selection: Selection): ValueCount[]
}

/**
 * The counters of one search. Counts that several facets need are made once. Only the needed counters are created,
 * because the array of days has 570 KB, which most searches would clear for nothing.
 */
export function countersOf(
  facets: readonly Facet[],
  classes: readonly FilterClass[],
  dictionary: TermDictionary,
): { readonly shared: readonly Omit<Counter, 'select'>[]; readonly counters: readonly Pick<Counter, 'select'>[] } {
  let byClass: ClassCounter | null = null
  let byDay: DayCounter | null = null
  const shared = new Set<Omit<Counter, 'select'>>()
  const counters = facets.map((facet) => {
    if (typeof facet === 'object') {
      byDay ??= new DayCounter()
      const days = byDay
      shared.add(days)
      return { select: (selection: Selection) => days.select(facet.published_at, selection) }
    }
    const { property, indexed } = facetRowOf(facet)
    if (indexed === 'columns') {
      // The class of a chunk decides: classes are counted, and the values are summed up from them at the end.
      byClass ??= new ClassCounter(classes)
      const ofClasses = byClass
      shared.add(ofClasses)
      const valueIn = (one: FilterClass) => one[property as keyof FilterClass] as string | null
      return { select: (selection: Selection) => ofClasses.select(valueIn, selection) }
    }
    const counter = new NumberCounter(property, columnOf(facet), dictionary)
    shared.add(counter)
    return counter
  })
  return { shared: [...shared], counters }
}

class ClassCounter {
  readonly column = null
  readonly #classes: readonly FilterClass[]
  readonly #counts: Uint32Array

  constructor(classes: readonly FilterClass[]) {
    this.#classes = classes
    this.#counts = new Uint32Array(classes.length)
  }

  add({ chunkClass }: SegmentData, { count, chunks }: MatchingDocuments): void {
    const counts = this.#counts
    for (let i = 0; i < count; i++) counts[chunkClass[chunks[i]!]!]!++
  }

  select(valueIn: (one: FilterClass) => string | null, selection: Selection): ValueCount[] {
    const found = new Map<string, number>()
    this.#counts.forEach((count, number) => {
      const value = count === 0 ? null : valueIn(this.#classes[number]!)
      if (value !== null) found.set(value, (found.get(value) ?? 0) + count)
    })
    return selectTexts(found, selection)
  }
}

class DayCounter {
  readonly column = null
  readonly #counts = new Uint32Array(daysCounted)
  readonly #rare = new Map<number, number>()

  add({ documentPublished }: SegmentData, { count, documents }: MatchingDocuments): void {
    const counts = this.#counts
    for (let i = 0; i < count; i++) {
      const day = dayOf(documentPublished[documents[i]!]!)
      const index = day - firstDay
      if (index >= 0 && index < daysCounted) counts[index]!++
      else if (!Number.isNaN(day)) this.#rare.set(day, (this.#rare.get(day) ?? 0) + 1)
    }
  }

  select(bucket: Parameters<typeof bucketOfDay>[1], selection: Selection): ValueCount[] {
    const found = new Map<string, number>()
    const add = (day: number, count: number) => {
      const value = bucketOfDay(day, bucket)
      found.set(value, (found.get(value) ?? 0) + count)
    }
    this.#counts.forEach((count, index) => {
      if (count > 0) add(index + firstDay, count)
    })
    for (const [day, count] of this.#rare) add(day, count)
    return selectTexts(found, selection)
  }
}

/** Counts values by their numbers. There are so many values that a text is read only if it is returned. */
class NumberCounter implements Counter {
  readonly column: GuardedColumn | null
  readonly #property: string
  readonly #dictionary: TermDictionary
  readonly #counts: Uint32Array
  readonly #found: number[] = []

  constructor(property: string, column: GuardedColumn | null, dictionary: TermDictionary) {
    this.#property = property
    this.column = column
    this.#dictionary = dictionary
    // Pages without counts are never touched.
    this.#counts = new Uint32Array(dictionary.sharedSize)
  }

  add(data: SegmentData, { count, documents, opened }: MatchingDocuments): void {
    const { starts, values } = data.catalog[this.#property]!
    const [counts, found] = [this.#counts, this.#found]
    for (let i = 0; i < count; i++) {
      if (opened[i] === 0) continue
      const document = documents[i]!
      const end = starts === null ? document + 1 : starts[document + 1]!
      for (let at = starts === null ? document : starts[document]!; at < end; at++) {
        const number = values[at]!
        if (counts[number]!++ === 0 && number !== 0) found.push(number)
      }
    }
  }

  select(selection: Selection): ValueCount[] {
    const { limit, byValue } = selection
    const dictionary = this.#dictionary
    const { text, starts } = dictionary
    const counts = this.#counts
    // A short sorted list, because nearly all values are rejected by their count or by a few of their bytes.
    const best: number[] = []
    const isBefore = (a: number, b: number) =>
      byValue || counts[a] === counts[b] ? dictionary.compare(a, b) < 0 : counts[a]! > counts[b]!
    for (const number of this.#found) {
      if (!isSelected(selection, text, starts[number]!, starts[number + 1]!)) continue
      if (best.length === limit && !isBefore(number, best[limit - 1]!)) continue
      let at = best.length
      while (at > 0 && isBefore(number, best[at - 1]!)) at--
      best.splice(at, 0, number)
      best.length = Math.min(best.length, limit)
    }
    return best.map((number) => ({ value: dictionary.textOf(number), count: counts[number]! }))
  }
}

function isSelected(
  { prefix, after }: Selection,
  bytes: Uint8Array<ArrayBufferLike>,
  start: number,
  end: number,
): boolean {
  if (end - start < prefix.length) return false
  for (let i = 0; i < prefix.length; i++) if (bytes[start + i] !== prefix[i]) return false
  return after === null || compareBytes(bytes, start, end, after, 0, after.length) > 0
}

function selectTexts(found: ReadonlyMap<string, number>, selection: Selection): ValueCount[] {
  const { limit, byValue } = selection
  return [...found]
    .map(([value, count]) => ({ value, count, bytes: Buffer.from(value) }))
    .filter(({ bytes }) => isSelected(selection, bytes, 0, bytes.length))
    .sort((a, b) => (byValue ? 0 : b.count - a.count) || Buffer.compare(a.bytes, b.bytes))
    .slice(0, limit)
    .map(({ value, count }) => ({ value, count }))
}
