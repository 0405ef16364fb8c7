/**
 * A process that runs a built-in model, started by `BuiltInEmbedder` as `built-in-process.ts MODEL DIRECTORY THREADS`.
 * It receives a few texts at a time, runs them one after the other, and replies with vectors of length 1. While the
 * parent drains, it still replies.
 */
import { flushCompileCache } from 'node:module'
import { getPriority, setPriority } from 'node:os'
import { answerCalls } from '../threads/answer-calls.ts'
import { loadBuiltInModel } from './built-in-model.ts'
import { type BuiltInModel, builtInModel } from './built-in-models.ts'
import type { EmbeddingKind } from './embedder.ts'
import { EmbeddingError } from './embedding-error.ts'
import { normaliseVector, type TextFault } from './normalise-vector.ts'

export interface ModelCall {
  readonly texts: readonly string[]
  readonly kind: EmbeddingKind
}

/** One for each text, in order. */
export type ModelAnswer = readonly (Float32Array | TextFault)[]

/**
 * The niceness of queries, below everything else: beside many texts, the p99 of keyword searches grew to 1.9 to 2.4
 * times, and to 4.4 times without this.
 */
const queriesNice = 5
/**
 * The niceness of passages, below queries, because nobody waits for them. A process that has run one keeps it: only an
 * administrator may raise a priority again.
 */
const passagesNice = 10

function giveWay(nice: number): void {
  if (getPriority() < nice) setPriority(nice)
}

async function run(model: BuiltInModel, directory: URL, threads: number): Promise<void> {
  const { started, failed } = answerCalls<ModelCall>({
    async answer({ texts, kind }): Promise<ModelAnswer> {
      if (kind === 'passage') giveWay(passagesNice)
      const { tokens, run } = await loading
      const vectors: (Float32Array | TextFault)[] = []
      for (const text of texts) vectors.push(normaliseVector(await run(tokens(text, kind)), model.dimensions))
      return vectors
    },
  })
  const loading = loadBuiltInModel(model, directory, threads)
  try {
    await loading
    // Saves compiled code for the next process. Node would do so on exit, but this process is killed.
    flushCompileCache()
    started()
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error
    failed(error)
  }
}

giveWay(queriesNice)
const [id, directory, threads] = process.argv.slice(2)
const model = builtInModel(id ?? '')
if (model === undefined || directory === undefined) throw new Error('this module is started by BuiltInEmbedder')
await run(model, new URL(directory), Number(threads))
