import type { CosineShape } from './embedder.ts'

/**
 * The models that ship with the product, one row each, with all their differences. Separate from `built-in-model.ts`,
 * which loads the native runtime. The licences and checksums of the files are in the NOTICE beside them.
 */
export interface BuiltInModel {
  /** The id of its profile, and the name in settings. */
  readonly id: string
  readonly dimensions: number
  /** Lower-case primary language subtags; null for a multilingual model. */
  readonly languages: readonly string[] | null
  /** Measured on English questions and passages that answer them. */
  readonly cosines: CosineShape
  readonly directory: URL
  readonly files: Readonly<Record<ModelFile, { readonly name: string; readonly sha256: string }>>
  /** The text before each query or passage. */
  readonly prefixes: { readonly query: string; readonly passage: string }
  /** `as_described` follows the tokeniser files. `unigram` is `UnigramTokenizer`, for a large vocabulary. */
  readonly tokenizer: 'as_described' | 'unigram'
  /** The tokens that begin and end a text. */
  readonly beginToken: number
  readonly endToken: number
  /** Whether the graph needs the input `token_type_ids`, which is all zeros. */
  readonly takesTokenTypes: boolean
  /** How the output becomes one vector: from the state of the first token, or by the graph itself. */
  readonly pooling: 'first_token' | 'in_graph'
}

/** The graph says where each large tensor is in the file of weights (`scripts/split-model.ts`). */
export type ModelFile = 'graph' | 'weights' | 'vocabulary' | 'tokenizer settings'

const bgeSmallEn: BuiltInModel = {
  id: 'bge-small-en-v1.5',
  dimensions: 384,
  languages: ['en'],
  cosines: { unrelated: 0.4, related: 0.8 },
  directory: new URL('../../models/bge-small-en-v1.5/', import.meta.url),
  files: {
    graph: {
      name: 'graph.onnx',
      sha256: '84c1443faa49e389b4ba84030928c4fac5135b31e996736beec0a8d26610287f',
    },
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
}

/** Quantised to 4 bits, as its name says: its vectors are close to those of the original, but not the same. */
const multilingualE5Small: BuiltInModel = {
  id: 'multilingual-e5-small-q4',
  dimensions: 384,
  languages: null,
  // The cosines of this model are high and close together.
  cosines: { unrelated: 0.72, related: 0.92 },
  directory: new URL('../../models/multilingual-e5-small-q4/', import.meta.url),
  files: {
    graph: {
      name: 'graph.onnx',
      sha256: '997bf3fe99711e2e0462dbcd146c0c6795b7934eb5397c7ec440bcdde6c63799',
    },
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
}

export const builtInModels = { bgeSmallEn, multilingualE5Small } as const

export function builtInModel(id: string): BuiltInModel | undefined {
  return Object.values(builtInModels).find((model) => model.id === id)
}
