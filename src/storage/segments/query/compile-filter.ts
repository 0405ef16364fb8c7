import { LRUCache } from 'lru-cache'
import type { Scope } from '../../../access/scope.ts'
import type { SearchFilters } from '../../../search/search-index.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import type { SegmentData } from '../format/segment-data.ts'

/** The fields of a chunk that may be searched: a set of these bits. */
export const titleMask = 1
export const bodyMask = 2
export const bothMask = 3

/** From this table entry on, a rule for the publication time decides. Its number is the entry minus this. */
const firstTimed = 4
/** The number of rules. A class that would need another one has a list of windows of its own. */
export const timeRulesMax = 64
/** The table entry of a class with a list of windows: it needs several, or there are too many rules. */
const ownWindows = 255

interface Window {
  readonly from: number
  readonly to: number
  readonly mask: number
}

/** The fields that may be searched at any time, and the additional ones within one window. */
interface TimeRule extends Window {
  readonly always: number
}

interface Conditions {
  readonly datasets: ReadonlySet<string> | null
  readonly platforms: ReadonlySet<string> | null
  readonly languages: ReadonlySet<string> | null
  readonly regions: ReadonlySet<string> | null
  /** Without a window a document matches with any publication time or none. A window matches only with a time. */
  readonly window: Window | null
}

interface CompiledEntry extends Conditions {
  readonly mask: number
}

const setOf = (values: readonly string[] | null): ReadonlySet<string> | null =>
  values === null ? null : new Set(values)

const allows = (allowed: ReadonlySet<string> | null, value: string | null): boolean =>
  allowed === null || (value !== null && allowed.has(value))

function windowOf(from: number | null, to: number | null, mask: number): Window | null {
  return from === null && to === null ? null : { from: from ?? -Infinity, to: to ?? Infinity, mask }
}

function meets(conditions: Conditions, found: FilterClass): boolean {
  return (
    allows(conditions.datasets, found.datasetId) &&
    allows(conditions.platforms, found.platform) &&
    allows(conditions.languages, found.language) &&
    allows(conditions.regions, found.region)
  )
}

/**
 * A scope and the request's filters, compiled for walks over postings: `table[class]` is the mask of a chunk, and an
 * entry above 3 goes through `resolve`.
 */
export class CompiledFilter {
  table = new Uint8Array(0)
  readonly #classes: readonly FilterClass[]
  readonly #entries: readonly CompiledEntry[]
  readonly #filters: Conditions
  readonly #contentTypes: ReadonlySet<string> | null
  readonly #statuses: ReadonlySet<string> | null
  readonly #includeNonCurrent: boolean
  /** By table entry minus `firstTimed`: all classes of a request share the same few windows. */
  readonly timeRules: TimeRule[] = []
  /** For classes with a list of windows: the mask at any time, and the windows with the masks that they add. */
  readonly #always: number[] = []
  readonly #windows: Window[][] = []

  constructor(scope: Scope, filters: SearchFilters, classes: readonly FilterClass[]) {
    this.#classes = classes
    this.#entries = scope.entries
      .map((entry) => {
        const mask = (entry.fields.includes('title') ? titleMask : 0) | (entry.fields.includes('body') ? bodyMask : 0)
        return {
          datasets: setOf(entry.datasets),
          platforms: setOf(entry.platforms),
          languages: setOf(entry.languages),
          regions: setOf(entry.regions),
          window: windowOf(entry.publishedFrom, entry.publishedTo, mask),
          mask,
        }
      })
      .filter((entry) => entry.mask !== 0)
    this.#filters = {
      datasets: setOf(filters.datasets),
      platforms: setOf(filters.platforms),
      languages: setOf(filters.languages),
      regions: setOf(filters.regions),
      window: windowOf(filters.publishedFrom, filters.publishedTo, bothMask),
    }
    this.#contentTypes = setOf(filters.contentTypes)
    this.#statuses = setOf(filters.statuses)
    this.#includeNonCurrent = filters.includeNonCurrent
    this.extend()
  }

  /** Adds table entries for new classes. Must be called before a cached filter is used again. */
  extend(): void {
    const decided = this.table.length
    if (decided === this.#classes.length) return
    const longer = new Uint8Array(this.#classes.length)
    longer.set(this.table)
    for (let number = decided; number < longer.length; number++) longer[number] = this.#decide(number)
    this.table = longer
  }

  /** The mask of a chunk whose table entry is above 3, before the rule for titles (`maskOf`). */
  resolve(data: SegmentData, chunk: number): number {
    const number = data.chunkClass[chunk]!
    const publishedAt = data.documentPublished[data.chunkDocument[chunk]!]!
    const entry = this.table[number]!
    if (entry !== ownWindows) {
      const { from, to, mask, always } = this.timeRules[entry - firstTimed]!
      // A document without a time has NaN, which is inside no window.
      return publishedAt >= from && publishedAt < to ? always | mask : always
    }
    let mask = this.#always[number]!
    for (const window of this.#windows[number]!) {
      if (publishedAt >= window.from && publishedAt < window.to) mask |= window.mask
    }
    return mask
  }

  /**
   * The mask of any chunk. A title belongs to every chunk of its version. If only the title may be searched, it counts
   * for one of them, because the number of chunks would reveal the length of the body.
   */
  maskOf(data: SegmentData, chunk: number): number {
    const entry = this.table[data.chunkClass[chunk]!]!
    const mask = entry > bothMask ? this.resolve(data, chunk) : entry
    return mask === titleMask && data.titleChunk[data.chunkVersion[chunk]!] !== chunk ? 0 : mask
  }

  #decide(number: number): number {
    const found = this.#classes[number]!
    if (!found.current && !this.#includeNonCurrent) return 0
    if (!meets(this.#filters, found)) return 0
    if (!allows(this.#contentTypes, found.contentType) || !allows(this.#statuses, found.status)) return 0
    const requested = this.#filters.window
    let always = 0
    const windows: Window[] = []
    for (const entry of this.#entries) {
      if (!meets(entry, found)) continue
      const { window, mask } = entry
      if (window === null && requested === null) always |= mask
      else {
        windows.push({
          from: Math.max(window?.from ?? -Infinity, requested?.from ?? -Infinity),
          to: Math.min(window?.to ?? Infinity, requested?.to ?? Infinity),
          mask,
        })
      }
    }
    const relevant = windows.filter((window) => (window.mask | always) !== always)
    if (relevant.length === 0) return always
    const rule = relevant.length === 1 ? this.#ruleNumber({ ...relevant[0]!, always }) : timeRulesMax
    if (rule < timeRulesMax) return firstTimed + rule
    this.#always[number] = always
    this.#windows[number] = relevant
    return ownWindows
  }

  #ruleNumber({ from, to, mask, always }: TimeRule): number {
    const known = this.timeRules.findIndex(
      (rule) => rule.from === from && rule.to === to && rule.mask === mask && rule.always === always,
    )
    if (known >= 0 || this.timeRules.length === timeRulesMax) return known >= 0 ? known : timeRulesMax
    return this.timeRules.push({ from, to, mask, always }) - 1
  }
}

/**
 * Caches the filters of recent requests. The scope of an application is the same from request to request, and deciding
 * some thousand classes again would take a third of a search.
 */
export class FilterCache {
  readonly #classes: readonly FilterClass[]
  readonly #filters = new LRUCache<string, CompiledFilter>({ max: cachedFiltersMax })

  constructor(classes: readonly FilterClass[]) {
    this.#classes = classes
  }

  filterFor(scope: Scope, filters: SearchFilters): CompiledFilter {
    const key = `${scopeKey(scope)} ${JSON.stringify(filters)}`
    const filter = this.#filters.get(key) ?? new CompiledFilter(scope, filters, this.#classes)
    this.#filters.set(key, filter)
    filter.extend()
    return filter
  }

  clear(): void {
    this.#filters.clear()
  }
}

const cachedFiltersMax = 64

const scopeKeys = new WeakMap<Scope, string>()

/**
 * A key that is equal for equal scopes. It is cached, because a search needs it several times and a scope may list
 * hundreds of datasets.
 */
export function scopeKey(scope: Scope): string {
  let key = scopeKeys.get(scope)
  if (key === undefined) {
    key = JSON.stringify(scope)
    scopeKeys.set(scope, key)
  }
  return key
}
