import { drawVector, type Random, wordOf } from '../index/corpus.ts'
import { drawText, type Mode } from '../search/ask.ts'
import { spell } from '../search/spell.ts'

export interface Question {
  readonly mode: Mode
  readonly text: string
  readonly vector: readonly number[] | undefined
  /** Null: all that the caller may read. */
  readonly datasets: readonly string[] | null
  readonly highlights: boolean
  /** Of OpenSearch's graph; as many as results unless told. */
  readonly k?: number
}

export type QuestionKind = Omit<Question, 'text' | 'vector'> & {
  readonly words: 'three' | 'one to eight'
  readonly vectors: 'easy' | 'hard'
}

const dimensions = 384

export function drawQuestion(kind: QuestionKind, random: Random): Question {
  const { words, vectors, ...rest } = kind
  const text = words === 'three' ? drawText(random) : drawSome(1 + Math.floor(random() * 8), random)
  if (kind.mode === 'keyword') return { ...rest, text, vector: undefined }
  const vector = vectors === 'easy' ? drawVector(random) : drawHard(random)
  return { ...rest, text, vector: [...vector].map((value) => Math.fround(value)) }
}

/** Words as frequent as in texts are those of few letters; people ask for rarer ones. */
function drawSome(count: number, random: Random): string {
  const ranks = Array.from({ length: count }, () => Math.floor(20 * 1000 ** random()))
  return ranks.map((rank) => spell(wordOf(rank))).join(' ')
}

/** Where nothing is near: every other one a random direction, else the sum of three that are far from each other. */
function drawHard(random: Random): Float32Array {
  if (random() < 0.5) return Float32Array.from({ length: dimensions }, () => random() + random() + random() - 1.5)
  const three = [drawVector(random), drawVector(random), drawVector(random)]
  return Float32Array.from({ length: dimensions }, (_, i) => three.reduce((sum, one) => sum + one[i]!, 0))
}
