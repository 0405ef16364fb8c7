/** The nearest rank, of figures in any order. */
export const percentile = (figures: readonly number[], part: number): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length * part)]!
