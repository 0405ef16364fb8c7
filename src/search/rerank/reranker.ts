import { analyse, locateTerms } from '../../text/analyse.ts'
import { type Guess, guessLanguage, guessWithParts } from '../../text/guess-language.ts'
import { RequestedTerms } from '../../text/requested-terms.ts'
import type { AnalysedField, KeywordQuery, LocatedField, LocatedText, TermGroup } from '../../text/types.ts'

/**
 * Hybrid ranking, second step: reads the best candidates word by word. It adds to the fused score how many of the
 * query's words occur (coverage), how close together they are (proximity), how many occur in the title, and whether
 * they occur at the same distances as in the query (phrase). The sum is scaled back to 0..1.
 *
 * An exact hit always ranks before a near miss. A document is an exact hit if its title equals the query, if the whole
 * query is in quotes and matches, or if three or more words occur as in the query. It then ranks above all others,
 * regardless of their scores. A match of two adjacent words is too common for that: it counts as a phrase, but not as
 * an exact hit.
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
  /** Empty if the caller may not read it, or if the candidate is not reranked. The same holds for `body`. */
  readonly title: string
  readonly body: string
  readonly language: string | null
}

export interface Reranked {
  /** 0 to 1. */
  readonly score: number
  /** The amount that each part adds to the score. */
  readonly parts: Readonly<Record<string, number>>
  /** The query's words in the body; null if it was not read. */
  readonly inBody: LocatedText | null
}

/** Exact hits score from here to 1, all others from 0 to here. */
const exactFrom = 0.9
const exactWordsMin = 3

/** Makes the reranker of one query, which analyses the query once. Scores are 0 to 1. */
export function rerankerOf(query: KeywordQuery, queryText: string, weights: RerankWeights) {
  const words = new QueryWords(query, queryText)
  const total = 1 + weights.coverage + weights.proximity + weights.title + weights.phrase
  return ({ score, title, body, language }: RerankInput): Reranked => {
    const count = words.groups.length
    if (count === 0 || (title === '' && body === '')) {
      const fused = exactFrom * (score / total)
      return { score: fused, parts: { fused }, inBody: null }
    }
    const guess = language === null ? guessWithParts(`${title}\n${body}`) : { language, noPartIsClear: false }
    const rules = guess.language
    const located = words.locate(body, guess)
    const inTitle = words.positionsOf(words.locate(title, guess))
    const inBody = words.positionsOf(located)
    // The order of the words only matters if a text contains all of them.
    const order = hasAll(inTitle) || hasAll(inBody) ? words.order(rules) : []
    const titlePhrase = occursAs(order, inTitle)
    const isPhrase = order.length > 1 && (titlePhrase || occursAs(order, inBody))
    // `locate` only finds words of the query, so the title is analysed again to count all of its words.
    const isTitle = titlePhrase && analyse(title, rules).length <= order.length
    const occursSomewhere = (steps: readonly Step[]) => occursAs(steps, inTitle) || occursAs(steps, inBody)
    const isExact =
      isTitle ||
      (isPhrase && order.length >= exactWordsMin) ||
      (words.isAllQuoted && words.quoted.every(occursSomewhere))
    const covered = words.groups.filter((_, i) => inTitle[i]!.length > 0 || inBody[i]!.length > 0)
    const coverage = weights.coverage * (covered.length / count)
    const proximity = weights.proximity * closeness(inBody)
    const titled = weights.title * (inTitle.filter((positions) => positions.length > 0).length / count)
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

/** A word of the query and its distance from the first word. Stop words in between count. */
interface Step {
  readonly group: number
  readonly offset: number
}

/** The positions of each group of the query in a text, ascending. */
type Positions = readonly (readonly number[])[]

class QueryWords {
  readonly groups: readonly TermGroup[]
  /** The phrases in quotes, word by word. */
  readonly quoted: readonly (readonly Step[])[]
  /**
   * Whether the whole query is in quotes. A quote inside a longer query does not make an exact hit: ranking its matches
   * first lowered nDCG@10.
   */
  readonly isAllQuoted: boolean
  readonly #text: string
  readonly #requested: RequestedTerms
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
    this.#requested = new RequestedTerms(this.#groupsOf.keys())
  }

  /** If `noPartIsClear`, no part of the text has a clear language, so none is guessed. */
  locate(text: string, { language, noPartIsClear }: Guess): LocatedField {
    return locateTerms(text, language, this.#requested, noPartIsClear ? () => null : guessLanguage)
  }

  positionsOf(field: LocatedField): Positions {
    const positions: number[][] = this.groups.map(() => [])
    this.#each(field, (group, position) => {
      const known = positions[group]!
      if (known.at(-1) !== position) known.push(position)
    })
    return positions
  }

  /** The word order of the query as analysed for a language; empty if one of its words has no term in it. */
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

  #each({ terms, positions }: AnalysedField, visit: (group: number, position: number) => void): void {
    for (let i = 0; i < terms.length; i++) {
      const groups = this.#groupsOf.get(terms[i]!)
      if (groups !== undefined) for (const group of groups) visit(group, positions[i]!)
    }
  }
}

const hasAll = (positions: Positions): boolean => positions.every((ofGroup) => ofGroup.length > 0)

/** Whether the words occur somewhere at exactly these distances. */
function occursAs(order: readonly Step[], positions: Positions): boolean {
  const [first, ...rest] = order
  if (first === undefined) return false
  return positions[first.group]!.some((start) =>
    rest.every(({ group, offset }) => positions[group]!.includes(start + offset)),
  )
}

/**
 * 1 if all words of the query are adjacent. Falls towards 0 as they are further apart or missing; 0 for a single word.
 * Finds the shortest window that contains every word of the query in the text.
 */
function closeness(positions: Positions): number {
  const present = positions.filter((ofGroup) => ofGroup.length > 0).length
  if (present < 2) return 0
  const occurrences = positions
    .flatMap((ofGroup, group) => ofGroup.map((position) => ({ position, group })))
    .sort((a, b) => a.position - b.position)
  const count = new Array<number>(positions.length).fill(0)
  let inside = 0
  let from = 0
  let shortest = Number.POSITIVE_INFINITY
  for (const { position, group } of occurrences) {
    if (count[group]!++ === 0) inside++
    while (inside === present) {
      shortest = Math.min(shortest, position - occurrences[from]!.position + 1)
      if (--count[occurrences[from]!.group]! === 0) inside--
      from++
    }
  }
  return (present / positions.length) * Math.min(1, present / shortest)
}
