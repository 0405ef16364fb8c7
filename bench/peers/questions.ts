import { dimensions, drawText, drawVector, type Random, wordOf } from '../corpus/corpus.ts'
import type { Mode } from '../support/ask.ts'

export interface Question {
  readonly mode: Mode
  readonly text: string
  readonly vector: readonly number[] | undefined
  /** Null means all that the caller may read. */
  readonly datasets: readonly string[] | null
  readonly highlights: boolean
  /** The neighbours requested from OpenSearch's graph. By default, as many as results. */
  readonly k?: number
}

export type QuestionKind = Omit<Question, 'text' | 'vector'> & {
  readonly words: 'three' | 'one to eight'
  readonly vectors: 'easy' | 'hard'
}

export function drawQuestion(kind: QuestionKind, random: Random): Question {
  const { words, vectors, ...rest } = kind
  const text = words === 'three' ? drawText(random) : drawSome(1 + Math.floor(random() * 8), random)
  if (kind.mode === 'keyword') return { ...rest, text, vector: undefined }
  const vector = vectors === 'easy' ? drawVector(random) : drawHard(random)
  return { ...rest, text, vector: [...vector].map((value) => Math.fround(value)) }
}

/** Draws rarer words than those of texts, as people do when they search. */
function drawSome(count: number, random: Random): string {
  const ranks = Array.from({ length: count }, () => Math.floor(20 * 1000 ** random()))
  return ranks.map(wordOf).join(' ')
}

/**
 * Draws a vector with no near neighbours: half are random directions, half are sums of three vectors that are far from
 * each other.
 */
function drawHard(random: Random): Float32Array {
  if (random() < 0.5) return Float32Array.from({ length: dimensions }, () => random() + random() + random() - 1.5)
  const three = [drawVector(random), drawVector(random), drawVector(random)]
  return Float32Array.from({ length: dimensions }, (_, i) => three.reduce((sum, one) => sum + one[i]!, 0))
}
