import { dayMs } from '../../../platform/time.ts'
import { firstDayOf, type TimeBucket } from '../../../platform/time-buckets.ts'
import type { InputDocument } from '../../algorithm.ts'

export const rollupFields = [
  'dataset',
  'platform',
  'language',
  'region',
  'content_type',
  'author',
  'topic',
  'tag',
  'classification',
] as const
export type RollupField = (typeof rollupFields)[number]

/** The values under which a document is counted; null if it has none. */
const valuesOf: Readonly<Record<RollupField, (document: InputDocument) => readonly (string | null)[]>> = {
  dataset: ({ datasetId }) => [datasetId],
  platform: ({ platform }) => [platform],
  language: ({ language }) => [language],
  region: ({ region }) => [region],
  content_type: ({ contentType }) => [contentType],
  author: ({ authorId }) => [authorId],
  topic: ({ topics }) => someOf(topics),
  tag: ({ tags }) => someOf(tags),
  classification: ({ classifications }) => someOf(classifications),
}

/** A repeated value counts once. */
const someOf = (values: readonly string[]): readonly (string | null)[] =>
  values.length === 0 ? [null] : [...new Set(values)]

/** Yields every combination of a document's values, one of each field. */
export function* keysOf(document: InputDocument, by: readonly RollupField[]): Generator<readonly (string | null)[]> {
  const [field, ...others] = by
  if (field === undefined) return yield []
  for (const value of valuesOf[field](document)) for (const rest of keysOf(document, others)) yield [value, ...rest]
}

export const keyCount = (document: InputDocument, by: readonly RollupField[]): number =>
  by.reduce((count, field) => count * valuesOf[field](document).length, 1)

/** Returns the first day, in UTC, of the bucket that contains a time. */
export const bucketOf = (timeMs: number, bucket: TimeBucket): Date => firstDayOf(Math.floor(timeMs / dayMs), bucket)
