/** A value of a field, and the number of documents that have it. */
export interface ValueCount {
  readonly value: string
  /** Null if the documents were not counted. */
  readonly count: number | null
}

/** Leaves out values with a comma, because the API separates list values with commas. */
export const withoutCommas = (counts: readonly ValueCount[]): readonly ValueCount[] =>
  counts.filter(({ value }) => !value.includes(','))
