/** Shorter names are similar to too many others. Longer ones are not typing errors. */
const lettersMin = 3
const lettersMax = 64

/** Returns the name that was probably meant: one edit away, two for long names; null if there is none. */
export function nearestName(typed: string, known: readonly string[]): string | null {
  if (typed.length < lettersMin || typed.length > lettersMax) return null
  const max = typed.length < 6 ? 1 : 2
  const near = known
    .map((name) => ({ name, errors: lettersApart(typed, name) }))
    .filter(({ errors }) => errors <= max)
    .sort((a, b) => a.errors - b.errors)
  return near[0]?.name ?? null
}

/** The number of letters inserted, removed or changed (Levenshtein distance), computed row by row. */
function lettersApart(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const changed = row[j - 1]! + Number(one[i - 1] !== other[j - 1])
      next.push(Math.min(changed, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row.at(-1)!
}
