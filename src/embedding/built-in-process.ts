/**
 * A process that runs a built-in model, started by `BuiltInEmbedder` as `built-in-process.ts MODEL DIRECTORY THREADS`.
 * It receives a few texts at a time, runs them one after the other, and replies with vectors of length 1. It keeps
 * replying while the parent shuts down.
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
 * The niceness of queries. Their priority is below everything else, so that embedding does not slow keyword searches.
 */
const queriesNice = 5
/**
 * The niceness of passages. Their priority is below queries, because nobody waits for them. A process that has run a
 * passage keeps this niceness, because only root may lower a niceness.
 */
const passagesNice = 10

function lowerPriority(nice: number): void {
  if (getPriority() < nice) setPriority(nice)
}

async function run(model: BuiltInModel, directory: URL, threads: number): Promise<void> {
  const { started, failed } = answerCalls<ModelCall>({
    async answer({ texts, kind }): Promise<ModelAnswer> {
      if (kind === 'passage') lowerPriority(passagesNice)
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

lowerPriority(queriesNice)
const [id, directory, threads] = process.argv.slice(2)
const model = builtInModel(id ?? '')
if (model === undefined || directory === undefined) throw new Error('this module is started by BuiltInEmbedder')
await run(model, new URL(directory), Number(threads))
