/**
 * Runs one of the models that are part of the product, int8 ONNX. Only `built-in-process.ts` imports this: it loads the
 * native runtime, and a run takes the thread for 4 ms (a few words) to 200 ms (512 tokens) and more.
 *
 * One text a run, never a batch. Dynamic quantisation takes one scale for the whole tensor, so that in a batch a
 * text's vector depends on its neighbours. Cosine to the vector of the same text alone, 160 abstracts in batches of
 * 8: median 0.998, least 0.993, no better with equal lengths; search results lie about 0.001 apart. Alone, a text
 * has one vector, bit for bit, with any number of threads. Batches of 4 to 8 would give 2.3 times the throughput at
 * 16 tokens, 1.1 times at 64 and nothing from 128 on; and a query would wait for a whole batch. The same of
 * multilingual-e5-small (CPU ms a text, alone and in eights): 5.2 and 3.9 at 16 tokens, 21.9 and 19.3 at 80, 97 and 100
 * (in fours) at 300. An arena, patterns of memory and denormals as zero moved neither model by more than a tenth.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Tokenizer } from '@huggingface/tokenizers'
import { env, InferenceSession, Tensor } from 'onnxruntime-node'
import type { BuiltInModel, ModelFile } from './built-in-models.ts'
import type { EmbeddingKind } from './embedder.ts'
import { EmbeddingError } from './embedding-error.ts'
import { UnigramTokenizer, type UnigramVocabulary } from './unigram-tokenizer.ts'

const tokensMax = 512
/**
 * Only this much of a text is tokenised: 16 characters a token, three times what English needs, so that a text of a
 * megabyte costs no more than a page. What lies further on could be read only past long runs of blanks.
 */
const charsMax = 8_192

export interface LoadedModel {
  /** The vector as the model gives it, perhaps not of length 1. */
  embed(text: string, kind: EmbeddingKind): Promise<Float32Array>
}

/** Reads every file once and hands over the bytes that were checked, so nothing can change in between. */
async function readChecked(model: BuiltInModel, directory: URL, role: ModelFile): Promise<Buffer> {
  const { name, sha256 } = model.files[role]
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

export async function loadBuiltInModel(model: BuiltInModel, directory: URL, threads: number): Promise<LoadedModel> {
  const vocabulary = JSON.parse((await readChecked(model, directory, 'vocabulary')).toString('utf8'))
  const settings: object = JSON.parse((await readChecked(model, directory, 'tokenizer settings')).toString('utf8'))
  const tokensOf = tokenizers[model.tokenizer](model, vocabulary, settings)

  env.logLevel = 'error'
  const session = await InferenceSession.create(await readChecked(model, directory, 'weights'), {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    interOpNumThreads: 1,
    intraOpNumThreads: threads,
    logSeverityLevel: 3,
    // An arena never gives back: 240 MB after texts of every length against 195 without, at the same CPU a text.
    enableCpuMemArena: false,
  })

  const { dimensions, prefixes, pooling } = model
  // Every run writes here: a new array for each would be 0.8 MB of garbage for a long text.
  const written = new Float32Array((pooling === 'in_graph' ? 1 : tokensMax) * dimensions)

  const outputs = {
    first_token: (tokens: number) => output('last_hidden_state', tokens * dimensions, [1, tokens, dimensions]),
    in_graph: () => output('sentence_embedding', dimensions, [1, dimensions]),
  }
  function output(name: string, size: number, shape: readonly number[]) {
    const data = written.subarray(0, size)
    return { name, data, tensor: new Tensor('float32', data, shape) }
  }

  function tokenise(text: string): number[] {
    const ids = tokensOf(text.slice(0, charsMax))
    return ids.length <= tokensMax ? ids : [...ids.slice(0, tokensMax - 1), model.endToken]
  }

  return {
    async embed(text, kind) {
      const ids = tokenise(prefixes[kind] + text)
      const shape = [1, ids.length]
      const feeds = {
        input_ids: new Tensor('int64', BigInt64Array.from(ids, BigInt), shape),
        attention_mask: new Tensor('int64', new BigInt64Array(ids.length).fill(1n), shape),
        ...(model.takesTokenTypes ? { token_type_ids: new Tensor('int64', new BigInt64Array(ids.length), shape) } : {}),
      }
      const output = outputs[pooling](ids.length)
      await session.run(feeds, { [output.name]: output.tensor }).catch((cause: unknown) => {
        throw new EmbeddingError('unavailable', 'the model failed to run', { cause })
      })
      // Where the graph has not pooled, the first token's state stands for the text.
      return output.data.slice(0, dimensions)
    },
  }
}
