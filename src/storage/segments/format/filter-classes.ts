import type { VersionColumns } from '../../../search/search-index.ts'

/**
 * One combination of all filter columns of a chunk except the publication time. Chunks refer to it by its number. Real
 * content has few combinations of dataset, platform, language, region, content type, status and current-or-not, so a
 * search decides once for each combination and then looks up one byte for each posting.
 */
export interface FilterClass extends Omit<VersionColumns, 'publishedAt'> {
  readonly current: boolean
}

export class FilterClasses {
  readonly list: FilterClass[] = []
  readonly #numbers = new Map<string, number>()

  add(columns: VersionColumns, current: boolean): number {
    const { datasetId, platform, language, region, contentType, status } = columns
    return this.addClass({ datasetId, platform, language, region, contentType, status, current })
  }

  addClass(filterClass: FilterClass): number {
    const { datasetId, platform, language, region, contentType, status, current } = filterClass
    const key = JSON.stringify([datasetId, platform, language, region, contentType, status, current])
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    this.#numbers.set(key, this.list.length)
    return this.list.push(filterClass) - 1
  }

  clear(): void {
    this.list.length = 0
    this.#numbers.clear()
  }
}
