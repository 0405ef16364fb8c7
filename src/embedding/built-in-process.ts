/**
 * A process that runs a built-in model, started by `BuiltInEmbedder` as `built-in-process.ts MODEL DIRECTORY THREADS`. It
 * is asked for a few texts at a time, runs one after the other, and answers with their vectors, of length 1. While the
 * parent drains, its embeddings still come.
 */
import { flushCompileCache } from 'node:module'
import { getPriority, setPriority } from 'node:os'
import { answerCalls } from '../threads/answer-calls.ts'
import { loadBuiltInModel } from './built-in-model.ts'
import { type BuiltInModel, builtInModel } from './built-in-models.ts'
import type { EmbeddingKind } from './embedder.ts'
import { EmbeddingError } from './embedding-error.ts'
import { giveMemoryBack } from './give-memory-back.ts'
import { normaliseVector, type TextFault } from './normalise-vector.ts'

export interface ModelCall {
  readonly texts: readonly string[]
  readonly kind: EmbeddingKind
}

/** One for each text, in order. */
export type ModelAnswer = readonly (Float32Array | TextFault)[]

/** They give way to everything else: a keyword search beside a crowd's texts takes 1.9 to 2.4 times as long at p99, without this 4.4. */
const queriesNice = 5
/** And passages to queries: nobody waits for them. A process that has run one stays so, because only an administrator may take it back. */
const passagesNice = 10

/** Without a text, until what was used for texts is given back. The next query takes no longer for it: 5 to 10 ms of CPU either way. */
const restMs = 1_000

function giveWay(nice: number): void {
  if (getPriority() < nice) setPriority(nice)
}

/** What is no longer needed an idle process would keep for ever. */
function dropUnused(): void {
  globalThis.gc?.()
  giveMemoryBack()
}

async function run(model: BuiltInModel, directory: URL, threads: number): Promise<void> {
  const rest = setTimeout(dropUnused, restMs)
  const { started, failed } = answerCalls<ModelCall>({
    async answer({ texts, kind }): Promise<ModelAnswer> {
      if (kind === 'passage') giveWay(passagesNice)
      const { tokens, run } = await loading
      const vectors: (Float32Array | TextFault)[] = []
      for (const text of texts) {
        vectors.push(normaliseVector(await run(tokens(text, kind)), model.dimensions))
        rest.refresh()
      }
      return vectors
    },
  })
  const loading = loadBuiltInModel(model, directory, threads)
  try {
    await loading
    // What the runtime compiled is kept for the next one. It would do so at its end, but that is a kill.
    flushCompileCache()
    // The files as read, 35 MB and more.
    dropUnused()
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
