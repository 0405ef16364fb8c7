/** The lowest where there are fewer. */
export const nthHighest = (values: Float64Array, n: number): number =>
  values.toSorted()[Math.max(0, values.length - n)]!
