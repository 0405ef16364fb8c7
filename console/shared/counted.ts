/** A value of a field, and how many documents have it. */
export interface Counted {
  readonly value: string
  /** Null where it was not counted. */
  readonly count: number | null
}

/** Values that a list divided by commas can say: what has a comma in it is not offered where the API takes such a list. */
export const sayable = (counts: readonly Counted[]): readonly Counted[] =>
  counts.filter(({ value }) => !value.includes(','))
