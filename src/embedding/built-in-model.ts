/**
 * The model that is part of the product: bge-small-en-v1.5, int8 ONNX. Only `built-in-process.ts` imports this: it
 * loads the native runtime, and a run takes the thread for 4 ms (a few words) to 200 ms (512 tokens).
 *
 * One text a run, never a batch. Dynamic quantisation takes one scale for the whole tensor, so that in a batch a
 * text's vector depends on its neighbours. Cosine to the vector of the same text alone, 160 abstracts in batches of
 * 8: median 0.998, least 0.993, no better with equal lengths; search results lie about 0.001 apart. Alone, a text
 * has one vector, bit for bit, with any number of threads. Batches of 4 to 8 would give 2.3 times the throughput at
 * 16 tokens, 1.1 times at 64 and nothing from 128 on; and a query would wait for a whole batch.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Tokenizer } from '@huggingface/tokenizers'
import { env, InferenceSession, Tensor } from 'onnxruntime-node'
import { builtInProfile } from './built-in-profile.ts'
import type { EmbeddingKind } from './embedder.ts'
import { EmbeddingError } from './embedding-error.ts'

const files = {
  weights: {
    name: 'model_quantized.onnx',
    sha256: '6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4',
  },
  vocabulary: {
    name: 'tokenizer.json',
    sha256: 'd241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66',
  },
  'tokenizer settings': {
    name: 'tokenizer_config.json',
    sha256: '9261e7d79b44c8195c1cada2b453e55b00aeb81e907a6664974b4d7776172ab3',
  },
} as const

const tokensMax = 512
/**
 * Only this much of a text is tokenised: 16 characters a token, three times what English needs, so that a text of a
 * megabyte costs no more than a page. What lies further on could be read only past long runs of blanks.
 */
const charsMax = 8_192
const separatorToken = 102

export interface BuiltInModel {
  /** The vector as the model gives it, not yet normalised. */
  embed(text: string, kind: EmbeddingKind): Promise<Float32Array>
}

/** Reads every file once and hands over the bytes that were checked, so nothing can change in between. */
async function readChecked(directory: URL, role: keyof typeof files): Promise<Buffer> {
  const { name, sha256 } = files[role]
  const bytes = await readFile(fileURLToPath(new URL(name, directory))).catch((error: NodeJS.ErrnoException) => {
    throw new EmbeddingError(
      'damaged_model',
      `the built-in model's ${role} cannot be read (${error.code ?? 'unknown'})`,
    )
  })
  if (createHash('sha256').update(bytes).digest('hex') !== sha256) {
    throw new EmbeddingError('damaged_model', `the built-in model's ${role} differ from what was shipped (checksum)`)
  }
  return bytes
}

export async function loadBuiltInModel(directory: URL, threads: number): Promise<BuiltInModel> {
  const vocabulary: object = JSON.parse((await readChecked(directory, 'vocabulary')).toString('utf8'))
  const settings: object = JSON.parse((await readChecked(directory, 'tokenizer settings')).toString('utf8'))
  const tokenizer = new Tokenizer(vocabulary, settings)

  env.logLevel = 'error'
  const session = await InferenceSession.create(await readChecked(directory, 'weights'), {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    interOpNumThreads: 1,
    intraOpNumThreads: threads,
    logSeverityLevel: 3,
    // An arena never gives back: 240 MB after texts of every length against 195 without, at the same CPU a text.
    enableCpuMemArena: false,
  })

  const { dimensions } = builtInProfile
  // Every run writes here: a new array for each would be 0.8 MB of garbage for a long text.
  const hiddenStates = new Float32Array(tokensMax * dimensions)

  function tokenise(text: string): number[] {
    const { ids } = tokenizer.encode(text.slice(0, charsMax))
    return ids.length <= tokensMax ? ids : [...ids.slice(0, tokensMax - 1), separatorToken]
  }

  return {
    async embed(text, kind) {
      const ids = tokenise(kind === 'query' ? builtInProfile.queryPrefix + text : text)
      const shape = [1, ids.length]
      const feeds = {
        input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
        attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
        token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), shape),
      }
      const hidden = hiddenStates.subarray(0, ids.length * dimensions)
      const results = { last_hidden_state: new Tensor('float32', hidden, [...shape, dimensions]) }
      await session.run(feeds, results).catch((cause: unknown) => {
        throw new EmbeddingError('unavailable', 'the model failed to run', { cause })
      })
      // CLS pooling: the first token's state stands for the text.
      return hidden.slice(0, dimensions)
    },
  }
}
