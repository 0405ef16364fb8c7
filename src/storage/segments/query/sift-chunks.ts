import type { SegmentImage } from '../format/segment-image.ts'
import type { KeywordPlan, PlannedPhrase, PlannedWord } from './plan-keyword.ts'

/**
 * Which chunks have to be scored once there are results enough: what has none but common words may be known to be worse than
 * all of those. Scored are the chunks that hold one of these terms with its code (`postingFrequency`) or a higher one.
 */
export type Sieve = readonly { readonly term: number; readonly codeLeast: number }[]

/** The least code of what stands in the title, or in the body more often than that. */
const codeAbove = (frequency: number): number => frequency + 1

/** How often a chunk that is not scored may have a common word: as often as it likes, or else once. */
const frequencies = [Number.POSITIVE_INFINITY, 1]

/** What is added up in another order differs by less. */
export const rounding = 1 + 1e-9

/** The sieves of a search: by segment, and by the score that a chunk must reach. `null` where every chunk may reach it. */
export type Sieves = (image: SegmentImage, threshold: number) => Sieve | null

export function sievesFor({ any, mustNot, boosts, normBase, normStep }: KeywordPlan): Sieves {
  const words = any.filter((clause) => clause.type === 'word' && clause.beginnings.length === 0) as PlannedWord[]
  const phrases = boosts.filter((boost) => boost.type === 'phrase')
  if (words.length < any.length || phrases.length < boosts.length || mustNot.length > 0) return () => null
  // The more common a word, the less it counts for.
  words.sort((a, b) => weightOf(a) - weightOf(b))
  const bestScore = bestScoreOf(words, phrases)
  return (image, threshold) => {
    if (threshold === 0) return null
    const norm = normBase + normStep * shortestChunk(image)
    const common: number[] = []
    for (const _ of words) {
      const frequency = frequencies.find((most) => rounding * bestScore([...common, most], norm) < threshold)
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

/** What a chunk scores at most that has the terms of the first words no more often than `most`, and none of the others. */
function bestScoreOf(words: readonly PlannedWord[], phrases: readonly PlannedPhrase[]) {
  const weights = words.map(weightOf)
  const wordsWith = (term: number) =>
    words.flatMap(({ terms }, i) => (terms.some((one) => one.term === term) ? [i] : []))
  const boosts = phrases.map(({ groups, weight }) => ({ weight, groups: groups.map((terms) => terms.map(wordsWith)) }))
  const scoreOf = (weight: number, frequency: number, norm: number) => weight / (1 + norm / frequency)
  return (most: readonly number[], norm: number): number => {
    const mostOf = (term: readonly number[]) => Math.min(...term.map((word) => most[word] ?? 0))
    let best = 0
    for (const [i, frequency] of most.entries()) best += scoreOf(weights[i]!, frequency, norm)
    for (const { groups, weight } of boosts) {
      // No more often than the words of one of its groups.
      const ofGroups = groups.map((terms) => terms.reduce((sum, term) => sum + mostOf(term), 0))
      best += scoreOf(weight, Math.min(...ofGroups), norm)
    }
    return best
  }
}

/**
 * Fewer postings than these are scored in the time that it takes to tell which need not be. CPU of three words from here
 * on, of what it is from 4,096 on: among 100,000 chunks .95, among 1,000,000 .81; of seven words 1.06, in one busy run, and .95.
 */
export const siftFromUsual = 1024

const shortest = new WeakMap<SegmentImage, number>()

function shortestChunk(image: SegmentImage): number {
  let length = shortest.get(image)
  if (length === undefined) {
    length = Number.POSITIVE_INFINITY
    for (let chunk = 0; chunk < image.chunks; chunk++) length = Math.min(length, image.chunkLength[chunk]!)
    shortest.set(image, length)
  }
  return length
}
