/**
 * A process that runs the built-in model, started by `BuiltInEmbedder` as `built-in-process.ts DIRECTORY THREADS`. It is
 * asked for one text at a time, and answers with its vector, of length 1. While the parent drains, its embeddings still
 * come.
 */
import { answerCalls } from '../threads/answer-calls.ts'
import { loadBuiltInModel } from './built-in-model.ts'
import { builtInProfile } from './built-in-profile.ts'
import type { EmbeddingKind } from './embedder.ts'
import { EmbeddingError } from './embedding-error.ts'
import { normaliseVector, type TextFault } from './normalise-vector.ts'

export interface ModelCall {
  readonly text: string
  readonly kind: EmbeddingKind
}

async function run(directory: URL, threads: number): Promise<void> {
  const { started, failed } = answerCalls<ModelCall>({
    async answer({ text, kind }): Promise<Float32Array | TextFault> {
      return normaliseVector(await (await loading).embed(text, kind), builtInProfile.dimensions)
    },
  })
  const loading = loadBuiltInModel(directory, threads)
  try {
    await loading
    // The files as read, 35 MB, are no longer needed; an idle process would keep them for ever.
    globalThis.gc?.()
    started()
  } catch (error) {
    if (!(error instanceof EmbeddingError)) throw error
    failed(error)
  }
}

const [directory, threads] = process.argv.slice(2)
if (directory === undefined) throw new Error('this module is started by BuiltInEmbedder')
await run(new URL(directory), Number(threads))
