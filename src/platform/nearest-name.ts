/** Shorter names are similar to too many others, and longer ones are no typing errors. */
const lettersMin = 3
const lettersMax = 64

/** Returns the nearest known name within a Levenshtein distance of 1, or 2 for long names; null if there is none. */
export function nearestName(typed: string, known: readonly string[]): string | null {
  if (typed.length < lettersMin || typed.length > lettersMax) return null
  const max = typed.length < 6 ? 1 : 2
  const near = known
    .map((name) => ({ name, distance: levenshteinDistance(typed, name) }))
    .filter(({ distance }) => distance <= max)
    .sort((a, b) => a.distance - b.distance)
  return near[0]?.name ?? null
}

function levenshteinDistance(one: string, other: string): number {
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
