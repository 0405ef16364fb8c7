/** Shorter ones are near to too much, longer ones are no names that anybody mistyped. */
const lettersMin = 3
const lettersMax = 64

/** The name that was most likely meant: one letter away, two in long names; null where none is. */
export function nearestName(typed: string, known: readonly string[]): string | null {
  if (typed.length < lettersMin || typed.length > lettersMax) return null
  const max = typed.length < 6 ? 1 : 2
  const near = known
    .map((name) => ({ name, errors: lettersApart(typed, name) }))
    .filter(({ errors }) => errors <= max)
    .sort((a, b) => a.errors - b.errors)
  return near[0]?.name ?? null
}

/** Letters put in, left out or changed (Levenshtein): names are short, so it is worked out row by row. */
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
