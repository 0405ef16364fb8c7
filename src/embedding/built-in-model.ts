/**
 * Runs one of the models that are part of the product, int8 ONNX. Only `built-in-process.ts` imports this: it loads the
 * native runtime, and a run takes the thread for 4 ms (a few words) to 200 ms (512 tokens) and more.
 *
 * One text a run of the session, never a batch: a text must have one vector, bit for bit, whatever comes with it. Copies share
 * it, unchanged chunks keep it, and two servers give the same answers. Dynamic quantisation takes one scale for the whole
 * tensor, so that in a batch a text's vector depends on its neighbours, padding or not. Of 32 abstracts cut to the same
 * length, in eights, none had the bytes that it has alone, with either model, at 16 to 256 tokens; the least cosine to them
 * was .995 to .998, and search results lie about .001 apart. What batches would save, CPU ms a text alone and in eights: bge
 * 6.5 and 3.7 at 16 tokens, 20 and 12 at 64; e5 6.0 and 4.4 at 16, 12.5 and 9.9 at 32, 18.5 and 17.3 at 64; from 128 on
 * nothing. An arena, patterns of memory and denormals as zero moved neither model by more than a tenth. Of one text a run,
 * `npm run bench -- embedding` says what part of the bare session's texts come out of the whole.
 */
import { createHash } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Tokenizer } from '@huggingface/tokenizers'
import { env, InferenceSession, Tensor } from 'onnxruntime-node'
import type { BuiltInModel, ModelFile } from './built-in-models.ts'
import type { EmbeddingKind } from './embedder.ts'
import { EmbeddingError } from './embedding-error.ts'
import { UnigramTokenizer, type UnigramVocabulary } from './unigram-tokenizer.ts'
import { graphWithWeightsInFile } from './weights-in-file.ts'

const tokensMax = 512
/**
 * Only this much of a text is tokenised: 16 characters a token, three times what English needs, so that a text of a
 * megabyte costs no more than a page. What lies further on could be read only past long runs of blanks.
 */
const charsMax = 8_192

export interface LoadedModel {
  /** As the model reads the text, with what stands in front of it, at most 512. */
  tokens(text: string, kind: EmbeddingKind): readonly number[]
  /** The vector as the model gives it, perhaps not of length 1. */
  run(tokens: readonly number[]): Promise<Float32Array>
}

/** Reads a file once and hands over the bytes that were checked; the weights are mapped from it after that. */
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
  const weights = await readChecked(model, directory, 'weights')
  // Where links lead to: weights that are linked into the folder from elsewhere the runtime refuses.
  const weightsPath = await realpath(fileURLToPath(new URL(model.files.weights.name, directory)))
  const session = await InferenceSession.create(graphWithWeightsInFile(weights, basename(weightsPath)), {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    interOpNumThreads: 1,
    intraOpNumThreads: threads,
    logSeverityLevel: 3,
    // An arena never gives back: 45 MB more after texts of every length, at the same CPU a text.
    enableCpuMemArena: false,
    extra: { session: { model_external_initializers_file_folder_path: dirname(weightsPath) } },
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
      const output = outputs[pooling](ids.length)
      await session.run(feeds, { [output.name]: output.tensor }).catch((cause: unknown) => {
        throw new EmbeddingError('unavailable', 'the model failed to run', { cause })
      })
      // Where the graph has not pooled, the first token's state stands for the text.
      return output.data.slice(0, dimensions)
    },
  }
}
