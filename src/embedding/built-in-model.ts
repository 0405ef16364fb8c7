/**
 * Runs one of the models that ship with the product (int8 ONNX). Only `built-in-process.ts` imports this, because it
 * loads the native runtime, and a run blocks the thread for 4 ms (a few words) to 200 ms and more (512 tokens).
 *
 * Each run has one text, never a batch. The vector of a text must be the same to the last bit, whatever other texts are
 * embedded with it: copies share it, unchanged chunks keep it, and two servers give the same answers. Dynamic
 * quantisation uses one scale for the whole tensor, so in a batch the vector of a text depends on its neighbours. In
 * batches of eight abstracts its cosine to the vector of the text alone fell to .995, while neighbouring search results
 * differ by about .001. Batches would save up to 45 % of the CPU of short texts, and nothing from 128 tokens.
 * docs/ranking.md has the overhead over the bare session.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Tokenizer } from '@huggingface/tokenizers'
import { env, InferenceSession, Tensor } from 'onnxruntime-node'
import type { BuiltInModel, ModelFile } from './built-in-models.ts'
import type { EmbeddingKind } from './embedder.ts'
import { EmbeddingError } from './embedding-error.ts'
import { UnigramTokenizer, type UnigramVocabulary } from './unigram-tokenizer.ts'

const tokensMax = 512
/**
 * Tokenises only this much of a text: 16 characters per token, three times what English needs, so that a text of a
 * megabyte costs no more than a page. Text beyond it could only matter after long runs of blanks.
 */
const charsMax = 8_192

export interface LoadedModel {
  /** The tokens of the text with its prefix, at most 512. */
  tokens(text: string, kind: EmbeddingKind): readonly number[]
  /** The raw vector of the model, which may not have length 1. */
  run(tokens: readonly number[]): Promise<Float32Array>
}

/**
 * The path of a file with links resolved, because the runtime looks for the weights beside the graph. The file is read
 * in parts. Rejects if it cannot be read, or differs from the shipped one.
 */
async function checkedPath(model: BuiltInModel, directory: URL, role: ModelFile): Promise<string> {
  const { name, sha256 } = model.files[role]
  const sum = createHash('sha256')
  try {
    const path = await realpath(fileURLToPath(new URL(name, directory)))
    for await (const portion of createReadStream(path)) sum.update(portion)
    if (sum.digest('hex') === sha256) return path
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new EmbeddingError('damaged_model', `the file of the built-in model's ${role} cannot be read (${code})`)
  }
  throw new EmbeddingError(
    'damaged_model',
    `the file of the built-in model's ${role} differs from the shipped one (checksum)`,
  )
}

type TokensOf = (text: string) => number[]

const tokenizers: Readonly<
  Record<BuiltInModel['tokenizer'], (model: BuiltInModel, vocabulary: object, settings: object) => TokensOf>
> = {
  as_described(_, vocabulary, settings) {
    const tokenizer = new Tokenizer(vocabulary, settings)
    return (text) => tokenizer.encode(text).ids
  },
  unigram({ beginToken, endToken }, vocabulary) {
    const tokenizer = new UnigramTokenizer(vocabulary as UnigramVocabulary)
    return (text) => [beginToken, ...tokenizer.encode(text), endToken]
  },
}

const outputs = { first_token: 'last_hidden_state', in_graph: 'sentence_embedding' } as const

export async function loadBuiltInModel(model: BuiltInModel, directory: URL, threads: number): Promise<LoadedModel> {
  const json = async (role: ModelFile): Promise<object> =>
    JSON.parse(await readFile(await checkedPath(model, directory, role), 'utf8'))
  const tokensOf = tokenizers[model.tokenizer](model, await json('vocabulary'), await json('tokenizer settings'))

  env.logLevel = 'error'
  await checkedPath(model, directory, 'weights')
  const session = await InferenceSession.create(await checkedPath(model, directory, 'graph'), {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    interOpNumThreads: 1,
    intraOpNumThreads: threads,
    logSeverityLevel: 3,
    // An arena never shrinks: 45 MB more after texts of every length, at the same CPU per text.
    enableCpuMemArena: false,
  })

  const { dimensions, prefixes, pooling } = model
  const output = outputs[pooling]

  return {
    tokens(text, kind) {
      const ids = tokensOf((prefixes[kind] + text).slice(0, charsMax))
      return ids.length <= tokensMax ? ids : [...ids.slice(0, tokensMax - 1), model.endToken]
    },
    async run(ids) {
      const shape = [1, ids.length]
      const feeds = {
        input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
        attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
        ...(model.takesTokenTypes ? { token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), shape) } : {}),
      }
      const { [output]: states } = await session.run(feeds, [output]).catch((cause: unknown) => {
        throw new EmbeddingError('unavailable', 'the model failed to run', { cause })
      })
      // If the graph does not pool, the state of the first token is the vector of the text.
      return (states!.data as Float32Array).slice(0, dimensions)
    },
  }
}
