/** A field value, and the number of documents that have it. */
export interface Counted {
  readonly value: string
  /** Null if it was not counted. */
  readonly count: number | null
}

/** Leaves out values with a comma, because the API separates list values with commas. */
export const sayable = (counts: readonly Counted[]): readonly Counted[] =>
  counts.filter(({ value }) => !value.includes(','))
