/** Colours that most people can tell apart on light and on dark backgrounds. Values beyond the palette are grey. */
const palette = [
  '#1f8fa6',
  '#e08a2e',
  '#5b6ee1',
  '#3f9f5f',
  '#d1495b',
  '#9a6fd0',
  '#b59f2b',
  '#d976b8',
  '#4aa3df',
  '#8c6d4f',
  '#6fae2f',
  '#c26a4a',
]
const other = '#8797a0'

export interface Legend {
  readonly entries: readonly { readonly value: string | null; readonly colour: string; readonly count: number }[]
  readonly colours: readonly string[]
}

/**
 * Gives each value a colour, the most frequent first. `null` stands for nodes without a value and for values beyond the
 * palette.
 */
export function legendOf(values: readonly (string | null)[]): Legend {
  const counts = new Map<string | null, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  const named = [...counts].filter(([value]) => value !== null).sort((a, b) => b[1] - a[1])
  const shown = named.slice(0, palette.length)
  const colourOf = new Map(shown.map(([value], i) => [value, palette[i]!]))
  const rest = values.length - shown.reduce((sum, [, count]) => sum + count, 0)
  return {
    entries: [
      ...shown.map(([value, count]) => ({ value, count, colour: colourOf.get(value)! })),
      ...(rest === 0 ? [] : [{ value: null, count: rest, colour: other }]),
    ],
    colours: values.map((value) => colourOf.get(value) ?? other),
  }
}
