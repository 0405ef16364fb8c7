import type { CatalogColumns } from '../../../search/search-index.ts'
import type { SegmentData } from './segment-data.ts'

/** A document's catalog columns in a segment: values as their numbers in the dictionary, 0 and NaN for none. */
export interface CatalogNumbers {
  readonly score: number
  readonly author: number
  readonly topics: Uint32Array<ArrayBufferLike>
  readonly tags: Uint32Array<ArrayBufferLike>
  readonly classifications: Uint32Array<ArrayBufferLike>
}

/** Each value once. A value without a number, because a dictionary is full, counts as absent. */
export function numberColumns(columns: CatalogColumns, numberOf: (value: string) => number): CatalogNumbers {
  const numbers = (values: readonly string[]) =>
    Uint32Array.from(new Set(values), numberOf).filter((number) => number !== 0)
  return {
    score: columns.score ?? Number.NaN,
    author: columns.authorId === null ? 0 : numberOf(columns.authorId),
    topics: numbers(columns.topics),
    tags: numbers(columns.tags),
    classifications: numbers(columns.classifications),
  }
}

export function catalogNumbersAt(image: SegmentData, document: number): CatalogNumbers {
  const at = (values: Uint32Array<ArrayBufferLike>, starts: Uint32Array<ArrayBufferLike>) =>
    values.subarray(starts[document]!, starts[document + 1]!)
  return {
    score: image.documentScore[document]!,
    author: image.documentAuthor[document]!,
    topics: at(image.topics, image.topicStart),
    tags: at(image.tags, image.tagStart),
    classifications: at(image.classifications, image.classificationStart),
  }
}
