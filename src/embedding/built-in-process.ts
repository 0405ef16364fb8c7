/**
 * A process that runs a built-in model, started by `BuiltInEmbedder` as `built-in-process.ts MODEL DIRECTORY THREADS`. It
 * is asked for one text at a time, and answers with its vector, of length 1. While the parent drains, its embeddings
 * still come.
 */
import { answerCalls } from '../threads/answer-calls.ts'
import { loadBuiltInModel } from './built-in-model.ts'
import { type BuiltInModel, builtInModel } from './built-in-models.ts'
import type { EmbeddingKind } from './embedder.ts'
import { EmbeddingError } from './embedding-error.ts'
import { normaliseVector, type TextFault } from './normalise-vector.ts'

export interface ModelCall {
  readonly text: string
  readonly kind: EmbeddingKind
}

async function run(model: BuiltInModel, directory: URL, threads: number): Promise<void> {
  const { started, failed } = answerCalls<ModelCall>({
    async answer({ text, kind }): Promise<Float32Array | TextFault> {
      return normaliseVector(await (await loading).embed(text, kind), model.dimensions)
    },
  })
  const loading = loadBuiltInModel(model, directory, threads)
  try {
    await loading
    // The files as read, 35 MB and more, are no longer needed; an idle process would keep them for ever.
    globalThis.gc?.()
    started()
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error
    failed(error)
  }
}

const [id, directory, threads] = process.argv.slice(2)
const model = builtInModel(id ?? '')
if (model === undefined || directory === undefined) throw new Error('this module is started by BuiltInEmbedder')
await run(model, new URL(directory), Number(threads))
