import { bm25, type LengthNorm } from '../../../text/bm25.ts'
import type { SegmentData } from '../format/segment-data.ts'
import type { KeywordPlan, PlannedPhrase, PlannedWord } from './plan-keyword.ts'

/**
 * The essential terms of a query, once there are enough results: a chunk with only common words may be known to be
 * worse than all of those. Chunks are scored if they contain one of these terms with its code (`postingFrequency`) or a
 * higher one. The algorithm is MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations" (1995).
 */
export type EssentialTerms = readonly { readonly term: number; readonly codeLeast: number }[]

/** The lowest code of an occurrence in the title, or in the body more often than that. */
const codeAbove = (frequency: number): number => frequency + 1

/** The frequency of common words in a chunk that is not scored: unlimited, or else once. */
const frequencies = [Number.POSITIVE_INFINITY, 1]

/** Sums in another order differ by less than this factor. */
export const rounding = 1 + 1e-9

/**
 * The essential terms of a search, by segment and by the score that a chunk must reach. `null` if every chunk may reach
 * it.
 */
export type EssentialTermsOf = (image: SegmentData, threshold: number) => EssentialTerms | null

export function essentialTermsFor(plan: KeywordPlan): EssentialTermsOf {
  const { any, mustNot, boosts } = plan
  const words = any.filter((clause) => clause.type === 'word' && clause.beginnings.length === 0) as PlannedWord[]
  const phrases = boosts.filter((boost) => boost.type === 'phrase')
  if (words.length < any.length || phrases.length < boosts.length || mustNot.length > 0) return () => null
  // The more common a word, the lower its weight.
  words.sort((a, b) => weightOf(a) - weightOf(b))
  const bestScore = bestScoreOf(words, phrases, plan)
  return (image, threshold) => {
    if (threshold === 0) return null
    const length = shortestChunk(image)
    const common: number[] = []
    for (const _ of words) {
      const frequency = frequencies.find((most) => rounding * bestScore([...common, most], length) < threshold)
      if (frequency === undefined) break
      common.push(frequency)
    }
    if (common.length === 0) return null
    return words.flatMap(({ terms }, i) => {
      const most = common[i] ?? 0
      if (most === Number.POSITIVE_INFINITY) return []
      return terms.map(({ term }) => ({ term, codeLeast: most === 0 ? 0 : codeAbove(most) }))
    })
  }
}

const weightOf = ({ terms }: PlannedWord): number => Math.max(...terms.map(({ weight }) => weight))

/**
 * The upper bound for the score of a chunk that has the terms of the first words no more often than `most`, and none of
 * the others.
 */
function bestScoreOf(words: readonly PlannedWord[], phrases: readonly PlannedPhrase[], norm: LengthNorm) {
  const weights = words.map(weightOf)
  const wordsWith = (term: number) =>
    words.flatMap(({ terms }, i) => (terms.some((one) => one.term === term) ? [i] : []))
  const boosts = phrases.map(({ groups, weight }) => ({ weight, groups: groups.map((terms) => terms.map(wordsWith)) }))
  const scoreOf = (weight: number, frequency: number, length: number) =>
    frequency === Number.POSITIVE_INFINITY ? weight : bm25(weight, frequency, length, norm)
  return (most: readonly number[], length: number): number => {
    const mostOf = (term: readonly number[]) => Math.min(...term.map((word) => most[word] ?? 0))
    let best = 0
    for (const [i, frequency] of most.entries()) best += scoreOf(weights[i]!, frequency, length)
    for (const { groups, weight } of boosts) {
      // No more often than the words of one of its groups.
      const ofGroups = groups.map((terms) => terms.reduce((sum, term) => sum + mostOf(term), 0))
      best += scoreOf(weight, Math.min(...ofGroups), length)
    }
    return best
  }
}

/** Fewer postings than these are scored in the time that it takes to find out which can be skipped. */
export const skipFromUsual = 1024

const shortest = new WeakMap<SegmentData, number>()

function shortestChunk(image: SegmentData): number {
  let length = shortest.get(image)
  if (length === undefined) {
    length = Number.POSITIVE_INFINITY
    for (let chunk = 0; chunk < image.chunks; chunk++) length = Math.min(length, image.chunkLength[chunk]!)
    shortest.set(image, length)
  }
  return length
}
