import { bm25, type LengthNorm } from '../../../text/bm25.ts'
import type { SegmentData } from '../format/segment-data.ts'
import type { KeywordPlan, PlannedPhrase, PlannedWord } from './plan-keyword.ts'

/**
 * The essential terms of a query. Once there are enough results, an upper bound may show that a chunk with only common
 * words is worse than all of them. Only chunks that contain an essential term, with its code (`postingFrequency`) or a
 * higher one, are scored. The algorithm is MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations"
 * (1995).
 */
export type EssentialTerms = readonly { readonly term: number; readonly codeMin: number }[]

/** The lowest code of a posting with the term in the title, or in the body more often than `frequency`. */
const codeAbove = (frequency: number): number => frequency + 1

/** The largest frequency of a common word in a chunk that is not scored. The first one that is possible is used. */
const frequencies = [Number.POSITIVE_INFINITY, 1]

/** Sums in another order differ by less than this factor. */
export const rounding = 1 + 1e-9

/**
 * Returns the essential terms for a segment and the score that a chunk must reach; `null` if every chunk may reach it.
 */
export type EssentialTermsOf = (data: SegmentData, threshold: number) => EssentialTerms | null

export function essentialTermsFor(plan: KeywordPlan): EssentialTermsOf {
  const { any, mustNot, boosts } = plan
  const words = any.filter((clause) => clause.type === 'word' && clause.prefixes.length === 0) as PlannedWord[]
  const phrases = boosts.filter((boost) => boost.type === 'phrase')
  if (words.length < any.length || phrases.length < boosts.length || mustNot.length > 0) return () => null
  // The more common a word, the lower its weight.
  words.sort((a, b) => weightOf(a) - weightOf(b))
  const bestScore = bestScoreOf(words, phrases, plan)
  return (data, threshold) => {
    if (threshold === 0) return null
    const length = shortestChunk(data)
    const common: number[] = []
    for (const _ of words) {
      const frequency = frequencies.find(
        (frequencyMax) => rounding * bestScore([...common, frequencyMax], length) < threshold,
      )
      if (frequency === undefined) break
      common.push(frequency)
    }
    if (common.length === 0) return null
    return words.flatMap(({ terms }, i) => {
      const frequencyMax = common[i] ?? 0
      if (frequencyMax === Number.POSITIVE_INFINITY) return []
      return terms.map(({ term }) => ({ term, codeMin: frequencyMax === 0 ? 0 : codeAbove(frequencyMax) }))
    })
  }
}

const weightOf = ({ terms }: PlannedWord): number => Math.max(...terms.map(({ weight }) => weight))

/**
 * Computes the upper bound for the score of a chunk that has the terms of the first words no more often than
 * `frequencyMax`, and none of the others.
 */
function bestScoreOf(words: readonly PlannedWord[], phrases: readonly PlannedPhrase[], norm: LengthNorm) {
  const weights = words.map(weightOf)
  const wordsWith = (term: number) =>
    words.flatMap(({ terms }, i) => (terms.some((one) => one.term === term) ? [i] : []))
  const boosts = phrases.map(({ groups, weight }) => ({ weight, groups: groups.map((terms) => terms.map(wordsWith)) }))
  const scoreOf = (weight: number, frequency: number, length: number) =>
    frequency === Number.POSITIVE_INFINITY ? weight : bm25(weight, frequency, length, norm)
  return (frequencyMax: readonly number[], length: number): number => {
    const mostOf = (term: readonly number[]) => Math.min(...term.map((word) => frequencyMax[word] ?? 0))
    let best = 0
    for (const [i, frequency] of frequencyMax.entries()) best += scoreOf(weights[i]!, frequency, length)
    for (const { groups, weight } of boosts) {
      // A phrase occurs no more often than the words of any of its groups.
      const ofGroups = groups.map((terms) => terms.reduce((sum, term) => sum + mostOf(term), 0))
      best += scoreOf(weight, Math.min(...ofGroups), length)
    }
    return best
  }
}

/** With fewer postings, scoring them takes no longer than finding out which can be skipped. */
export const skipFromDefault = 1024

const shortest = new WeakMap<SegmentData, number>()

function shortestChunk(data: SegmentData): number {
  let length = shortest.get(data)
  if (length === undefined) {
    length = Number.POSITIVE_INFINITY
    for (let chunk = 0; chunk < data.chunks; chunk++) length = Math.min(length, data.chunkLength[chunk]!)
    shortest.set(data, length)
  }
  return length
}
