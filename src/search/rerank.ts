import { analyse } from '../text/analyse.ts'
import type { Clause, KeywordQuery, TermGroup } from '../text/types.ts'

/**
 * Hybrid ranking, second step: the best candidates are read word by word. What adds to a score: how many of the query's
 * words are there (coverage), how close together (proximity), in the title, and as one phrase. An exact title or phrase
 * is worth more than any near miss can make up for.
 */
export interface RerankWeights {
  readonly coverage: number
  readonly proximity: number
  readonly title: number
  readonly phrase: number
}

export const defaultRerankWeights: RerankWeights = { coverage: 0.1, proximity: 0.05, title: 0.1, phrase: 0.15 }

export interface RerankInput {
  /** The fused score, 0..1. */
  readonly score: number
  /** Empty where the reader may not see it. */
  readonly title: string
  readonly body: string
  readonly language: string | null
}

export function rerank(input: RerankInput, query: KeywordQuery, weights: RerankWeights): number {
  const groups = groupsOf(query.clauses)
  const total = 1 + weights.coverage + weights.proximity + weights.title + weights.phrase
  if (groups.length === 0) return input.score / total
  const title = placesOf(input.title, input.language, groups)
  const body = placesOf(input.body, input.language, groups)
  const found = groups.filter((_, i) => title.places[i]!.length > 0 || body.places[i]!.length > 0).length
  const inTitle = groups.filter((_, i) => title.places[i]!.length > 0).length
  const exactTitle = inTitle === groups.length && title.length <= groups.length + 1
  const phrase = groups.length > 1 && (isPhrase(title.places) || isPhrase(body.places))
  const sum =
    input.score +
    weights.coverage * (found / groups.length) +
    weights.proximity * closeness(body.places, groups.length) +
    weights.title * (exactTitle ? 1 : 0.5 * (inTitle / groups.length)) +
    weights.phrase * (phrase || exactTitle ? 1 : 0)
  return sum / total
}

function groupsOf(clauses: readonly Clause[]): readonly TermGroup[] {
  return clauses.flatMap((clause) => {
    if (clause.kind === 'mustNot') return []
    return clause.type === 'word' ? [clause.group] : [...clause.groups]
  })
}

interface Places {
  /** For each group its positions in the text, ascending. */
  readonly places: readonly (readonly number[])[]
  readonly length: number
}

function placesOf(text: string, language: string | null, groups: readonly TermGroup[]): Places {
  const places: number[][] = groups.map(() => [])
  if (text === '') return { places, length: 0 }
  const groupOf = new Map<string, number[]>()
  for (const [i, group] of groups.entries()) {
    for (const term of group) groupOf.set(term, [...(groupOf.get(term) ?? []), i])
  }
  const { terms, positions, length } = analyse(text, language)
  for (const [i, term] of terms.entries()) {
    for (const group of groupOf.get(term) ?? []) {
      if (places[group]!.at(-1) !== positions[i]) places[group]!.push(positions[i]!)
    }
  }
  return { places, length }
}

/** Whether the groups stand one after the other, in order. */
function isPhrase(places: readonly (readonly number[])[]): boolean {
  const rest = places.slice(1).map((one) => new Set(one))
  return places[0]!.some((start) => rest.every((one, i) => one.has(start + i + 1)))
}

/** 1 when all words that are there stand side by side, falling towards 0 as they are spread; 0 for a single word. */
function closeness(places: readonly (readonly number[])[], groups: number): number {
  const marks = places
    .flatMap((positions, group) => positions.map((position) => ({ position, group })))
    .sort((a, b) => a.position - b.position)
  const present = places.filter((positions) => positions.length > 0).length
  if (groups < 2 || present < 2) return 0
  const count = new Array<number>(places.length).fill(0)
  let inside = 0
  let from = 0
  let shortest = Number.POSITIVE_INFINITY
  for (const { position, group } of marks) {
    if (count[group]!++ === 0) inside++
    while (inside === present) {
      shortest = Math.min(shortest, position - marks[from]!.position + 1)
      if (--count[marks[from]!.group]! === 0) inside--
      from++
    }
  }
  return (present / groups) * (present / shortest)
}
