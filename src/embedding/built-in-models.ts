import type { CosineShape } from './embedder.ts'

/**
 * The models that are part of the product, one row each: all that differs between them. Apart from `built-in-model.ts`,
 * which loads the native runtime. The files' licences and sums are in the NOTICE beside them.
 */
export interface BuiltInModel {
  /** The id of its profile and the name it is asked for by. */
  readonly id: string
  readonly dimensions: number
  /** Lower-case primary language subtags; null for a model of many languages. */
  readonly languages: readonly string[] | null
  /** Measured on English questions and the passages that answer them. */
  readonly cosines: CosineShape
  readonly directory: URL
  readonly files: Readonly<Record<ModelFile, { readonly name: string; readonly sha256: string }>>
  /** What stands in front of a text. */
  readonly prefixes: { readonly query: string; readonly passage: string }
  /** How texts become tokens: as the files say, or by the unigram rule, for a vocabulary that is large. */
  readonly tokenizer: 'as_described' | 'unigram'
  /** The tokens that begin and end a text. */
  readonly beginToken: number
  readonly endToken: number
  /** Whether the graph wants to be told that all tokens are of one text. */
  readonly takesTokenTypes: boolean
  /** How the output becomes one vector: the state of the first token, or none of our doing. */
  readonly pooling: 'first_token' | 'in_graph'
  /** What glibc is told of memory in the model's process. */
  readonly allocator: Readonly<Record<string, string>>
}

const mebibyte = 1024 * 1024
/** Blocks from 1 MB up go back to the system at once: with texts of every length bge has 80 MB less, and loses a twentieth of its CPU. */
const givesBack = { MALLOC_MMAP_THRESHOLD_: String(mebibyte) }
/**
 * Freed memory is kept. With e5 giving back saves 7 MB and costs as many page faults as every run touches pages: 25,677
 * a text at 240 tokens, 135 ms of CPU instead of 83; 346 instead of 206 at 480.
 */
const keeps = { MALLOC_MMAP_THRESHOLD_: String(32 * mebibyte), MALLOC_TRIM_THRESHOLD_: String(64 * mebibyte) }

export type ModelFile = 'weights' | 'vocabulary' | 'tokenizer settings'

const bgeSmallEn: BuiltInModel = {
  id: 'bge-small-en-v1.5',
  dimensions: 384,
  languages: ['en'],
  cosines: { unrelated: 0.4, related: 0.8 },
  directory: new URL('../../models/bge-small-en-v1.5/', import.meta.url),
  files: {
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
  },
  prefixes: { query: 'Represent this sentence for searching relevant passages: ', passage: '' },
  tokenizer: 'as_described',
  beginToken: 101,
  endToken: 102,
  takesTokenTypes: true,
  pooling: 'first_token',
  allocator: givesBack,
}

/** A 4-bit copy, and its name says so: its vectors are near those of the original, not the same. */
const multilingualE5Small: BuiltInModel = {
  id: 'multilingual-e5-small-q4',
  dimensions: 384,
  languages: null,
  // They stand high and close together.
  cosines: { unrelated: 0.72, related: 0.92 },
  directory: new URL('../../models/multilingual-e5-small-q4/', import.meta.url),
  files: {
    weights: {
      name: 'model_int8.onnx',
      sha256: 'ed5d2486d6dc73a00659d4781a933fcfb50af1acdcd9e19421d6a22bb7113dea',
    },
    vocabulary: {
      name: 'tokenizer.json',
      sha256: '9e6619ac9454e05ce0fa0d45a0cdefb0113b0c30d14e5a9799300170c9f5a40a',
    },
    'tokenizer settings': {
      name: 'tokenizer_config.json',
      sha256: '6a76b8107bbb2658557e6f6088cb0610383eef435514b0957e963c6ce433a418',
    },
  },
  prefixes: { query: 'query: ', passage: 'passage: ' },
  tokenizer: 'unigram',
  beginToken: 0,
  endToken: 2,
  takesTokenTypes: false,
  pooling: 'in_graph',
  allocator: keeps,
}

export const builtInModels = { bgeSmallEn, multilingualE5Small } as const

export function builtInModel(id: string): BuiltInModel | undefined {
  return Object.values(builtInModels).find((model) => model.id === id)
}
