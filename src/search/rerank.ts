import { analyse, locateTerms } from '../text/analyse.ts'
import { type Guess, guessLanguage, guessWithParts } from '../text/guess-language.ts'
import type { AnalysedField, KeywordQuery, LocatedField, LocatedText, TermGroup } from '../text/types.ts'
import { WantedTerms } from '../text/wanted-terms.ts'

/**
 * Hybrid ranking, second step: the best candidates are read word by word. To the fused score are added how many of the
 * query's words are there (coverage), how close together (proximity), how many in the title, and whether they stand
 * there as they stand in the query (phrase); the sum is brought back to 0..1.
 *
 * An exact hit is never lost to a near miss: a title that says what the query says, a query all in quotes, or three words
 * and more as in the query lift a document above all that have none of these, whatever their scores. Two words side by
 * side are too common for that: they are a phrase, which counts, but not an exact hit.
 */
export interface RerankWeights {
  readonly coverage: number
  readonly proximity: number
  readonly title: number
  readonly phrase: number
}

export const defaultRerankWeights: RerankWeights = { coverage: 0.08, proximity: 0.01, title: 0.05, phrase: 0.1 }

export interface RerankInput {
  /** The fused score, 0..1. */
  readonly score: number
  /** Both empty where the reader may not see them, or beyond the candidates that are read. */
  readonly title: string
  readonly body: string
  readonly language: string | null
}

export interface Reranked {
  /** 0 to 1. */
  readonly score: number
  /** What each of them adds to it. */
  readonly parts: Readonly<Record<string, number>>
  /** The words of the query in the body; null where it was not read. */
  readonly inBody: LocatedText | null
}

/** Exact hits score from here to 1, all else from 0 to here. */
const exactFrom = 0.9
const exactWordsMin = 3

/** Makes the reranker of one query: what has to be known of the query is worked out once. Scores are 0 to 1. */
export function rerankerOf(query: KeywordQuery, queryText: string, weights: RerankWeights) {
  const wanted = new WantedWords(query, queryText)
  const total = 1 + weights.coverage + weights.proximity + weights.title + weights.phrase
  return ({ score, title, body, language }: RerankInput): Reranked => {
    const count = wanted.groups.length
    if (count === 0 || (title === '' && body === '')) {
      const fused = exactFrom * (score / total)
      return { score: fused, parts: { fused }, inBody: null }
    }
    const guess = language === null ? guessWithParts(`${title}\n${body}`) : { language, isNoneOfParts: false }
    const rules = guess.language
    const located = wanted.locate(body, guess)
    const inTitle = wanted.places(wanted.locate(title, guess))
    const inBody = wanted.places(located)
    // In what order the query has its words is of no matter to a text that lacks one.
    const order = hasAll(inTitle) || hasAll(inBody) ? wanted.order(rules) : []
    const titlePhrase = standsAs(order, inTitle)
    const isPhrase = order.length > 1 && (titlePhrase || standsAs(order, inBody))
    // For the length every word has to be read.
    const isTitle = titlePhrase && analyse(title, rules).length <= order.length
    const standsSomewhere = (steps: readonly Step[]) => standsAs(steps, inTitle) || standsAs(steps, inBody)
    const isExact =
      isTitle ||
      (isPhrase && order.length >= exactWordsMin) ||
      (wanted.isAllQuoted && wanted.quoted.every(standsSomewhere))
    const covered = wanted.groups.filter((_, i) => inTitle[i]!.length > 0 || inBody[i]!.length > 0)
    const coverage = weights.coverage * (covered.length / count)
    const proximity = weights.proximity * closeness(inBody)
    const titled = weights.title * (inTitle.filter((places) => places.length > 0).length / count)
    const phrase = weights.phrase * (isPhrase || isTitle ? 1 : 0)
    const sum = score + coverage + proximity + titled + phrase
    const scale = (isExact ? 1 - exactFrom : exactFrom) / total
    return {
      score: isExact ? exactFrom + (1 - exactFrom) * (sum / total) : exactFrom * (sum / total),
      parts: {
        fused: score * scale,
        coverage: coverage * scale,
        proximity: proximity * scale,
        title: titled * scale,
        phrase: phrase * scale,
        exact: isExact ? exactFrom : 0,
      },
      inBody: { language: rules, field: located },
    }
  }
}

/** A word of the query and its distance from the first one: stop words between them keep their places. */
interface Step {
  readonly group: number
  readonly offset: number
}

/** For each group of the query its positions in a text, ascending. */
type Places = readonly (readonly number[])[]

class WantedWords {
  readonly groups: readonly TermGroup[]
  /** The phrases in quotes, word by word. */
  readonly quoted: readonly (readonly Step[])[]
  /** A quote within a question is no more than a part of it: lifting what holds it cost .001 of nDCG@10 in Arabic. */
  readonly isAllQuoted: boolean
  readonly #text: string
  readonly #wanted: WantedTerms
  readonly #groupsOf = new Map<string, number[]>()
  readonly #orders = new Map<string | null, readonly Step[]>()

  constructor({ clauses }: KeywordQuery, text: string) {
    const groups: TermGroup[] = []
    const quoted: Step[][] = []
    for (const clause of clauses) {
      if (clause.kind === 'mustNot') continue
      const added = clause.type === 'word' ? [clause.group] : clause.groups
      if (clause.type === 'phrase') quoted.push(added.map((_, offset) => ({ group: groups.length + offset, offset })))
      groups.push(...added)
    }
    for (const [i, group] of groups.entries()) {
      for (const term of group) this.#groupsOf.set(term, [...(this.#groupsOf.get(term) ?? []), i])
    }
    this.groups = groups
    this.quoted = quoted
    this.isAllQuoted = groups.length > 0 && quoted.flat().length === groups.length
    this.#text = text
    this.#wanted = new WantedTerms(this.#groupsOf.keys())
  }

  /** In a part of what the guess is of. */
  locate(text: string, { language, isNoneOfParts }: Guess): LocatedField {
    return locateTerms(text, language, this.#wanted, isNoneOfParts ? () => null : guessLanguage)
  }

  places(field: LocatedField): Places {
    const places: number[][] = this.groups.map(() => [])
    this.#each(field, (group, position) => {
      const known = places[group]!
      if (known.at(-1) !== position) known.push(position)
    })
    return places
  }

  /** The query as a text of that language has it; empty where a word of the query is none in that language. */
  order(language: string | null): readonly Step[] {
    const known = this.#orders.get(language)
    if (known !== undefined) return known
    const steps = new Map<number, number>()
    this.#each(analyse(this.#text, language), (group, position) => {
      if (!steps.has(position)) steps.set(position, group)
    })
    const [first = 0] = steps.keys()
    const isWhole = new Set(steps.values()).size === this.groups.length
    const order = isWhole ? [...steps].map(([position, group]) => ({ group, offset: position - first })) : []
    this.#orders.set(language, order)
    return order
  }

  #each({ terms, positions }: AnalysedField, see: (group: number, position: number) => void): void {
    for (let i = 0; i < terms.length; i++) {
      const groups = this.#groupsOf.get(terms[i]!)
      if (groups !== undefined) for (const group of groups) see(group, positions[i]!)
    }
  }
}

const hasAll = (places: Places): boolean => places.every((positions) => positions.length > 0)

/** Whether the words stand somewhere at just these distances. */
function standsAs(order: readonly Step[], places: Places): boolean {
  const [first, ...rest] = order
  if (first === undefined) return false
  return places[first.group]!.some((start) =>
    rest.every(({ group, offset }) => places[group]!.includes(start + offset)),
  )
}

/** 1 when all words of the query stand side by side, falling towards 0 as they are spread or missing; 0 for one word. */
function closeness(places: Places): number {
  const present = places.filter((positions) => positions.length > 0).length
  if (present < 2) return 0
  const marks = places
    .flatMap((positions, group) => positions.map((position) => ({ position, group })))
    .sort((a, b) => a.position - b.position)
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
  return (present / places.length) * Math.min(1, present / shortest)
}
