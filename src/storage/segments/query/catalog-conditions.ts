import type { CatalogConditions } from '../../../search/search-index.ts'
import type { SegmentData } from '../format/segment-data.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'

interface WantedValues {
  readonly starts: 'topicStart' | 'tagStart' | 'classificationStart'
  readonly values: 'topics' | 'tags' | 'classifications'
  readonly wanted: ReadonlySet<number>
}

/** `null` without conditions. Must be called inside the snapshot, because it looks up terms. */
export function numberConditions(
  conditions: CatalogConditions | undefined,
  dictionary: TermDictionary,
): NumberedConditions | null {
  const isAny = Object.values(conditions ?? {}).every((condition) => condition === null)
  return conditions === undefined || isAny ? null : new NumberedConditions(conditions, dictionary)
}

/** The conditions of a search, with the numbers of their values. */
export class NumberedConditions {
  /** | -1: no document has it. */
  readonly #author: number | null
  readonly #lists: readonly WantedValues[]
  readonly #scoreMin: number
  readonly #scoreMax: number
  readonly #needsScore: boolean

  constructor(conditions: CatalogConditions, dictionary: TermDictionary) {
    const { authorId, topics, tags, classifications, scoreMin, scoreMax } = conditions
    this.#author = authorId === null ? null : dictionary.find(authorId) || -1
    const lists: WantedValues[] = []
    const want = (starts: WantedValues['starts'], values: WantedValues['values'], named: readonly string[] | null) => {
      if (named === null) return
      // An unknown text has the number 0, which is not the number of any value.
      lists.push({ starts, values, wanted: new Set(named.map((value) => dictionary.find(value))) })
    }
    want('topicStart', 'topics', topics)
    want('tagStart', 'tags', tags)
    want('classificationStart', 'classifications', classifications)
    this.#lists = lists
    this.#needsScore = scoreMin !== null || scoreMax !== null
    this.#scoreMin = scoreMin ?? -Infinity
    this.#scoreMax = scoreMax ?? Infinity
  }

  hold(image: SegmentData, document: number): boolean {
    if (this.#author !== null && image.documentAuthor[document] !== this.#author) return false
    if (this.#needsScore) {
      const score = image.documentScore[document]!
      // NaN, the score of a document without one, is in no interval.
      if (!(score >= this.#scoreMin && score <= this.#scoreMax)) return false
    }
    return this.#lists.every(({ starts, values, wanted }) => {
      const end = image[starts][document + 1]!
      for (let at = image[starts][document]!; at < end; at++) if (wanted.has(image[values][at]!)) return true
      return false
    })
  }
}
