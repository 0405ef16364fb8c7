import type { Scope } from '../../src/access/scope.ts'
import { builtInModels } from '../../src/embedding/built-in-models.ts'
import type { PutVersion } from '../../src/indexing/fed-index.ts'
import type { CatalogColumns } from '../../src/search/search-index.ts'
import type { AnalysedField } from '../../src/text/types.ts'

/** A Zipf corpus: documents of one to three chunks of 25 to 84 words, titles of five, 100 datasets, 10 languages. */
const vocabulary = 50_000
export const datasets = Array.from({ length: 100 }, (_, i) => `d${i}`)
const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'sv', 'ru', 'pl', 'tr']
const clusters = 2000
export const profileId = builtInModels.multilingualE5Small.id
export const dimensions = 384

export type Random = () => number

export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const cumulative = new Float64Array(vocabulary)
let mass = 0
for (let rank = 0; rank < vocabulary; rank++) {
  mass += 1 / (rank + 2.7)
  cumulative[rank] = mass
}

function drawRank(random: Random): number {
  const target = random() * mass
  let low = 0
  let high = vocabulary - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (cumulative[middle]! < target) low = middle + 1
    else high = middle
  }
  return low
}

/** Words begin with many different letters, as real words do, because highlights depend on prefixes. */
const letter = (number: number): string => String.fromCharCode(0x61 + (number % 26))
const words = Array.from(
  { length: vocabulary },
  (_, rank) => `${letter(rank * 7)}${letter(Math.floor(rank / 26) * 5 + rank)}w${rank.toString(36)}`,
)
export const wordOf = (rank: number): string => words[rank]!

function drawField(random: Random, length: number): AnalysedField {
  const terms = Array.from({ length }, () => wordOf(drawRank(random)))
  return { terms, positions: terms.map((_, i) => i), length }
}

const centres = Float32Array.from({ length: clusters * dimensions }, gaussian(randomFrom(99)))

/** Roughly normal: the sum of four uniform draws. */
function gaussian(random: Random): () => number {
  return () => random() + random() + random() + random() - 2
}

/** A vector around one of the centres, as far from it as the centres are from each other. */
export function drawVector(random: Random): Float32Array {
  const centre = Math.floor(random() * clusters) * dimensions
  const spread = gaussian(random)
  return Float32Array.from({ length: dimensions }, (_, i) => centres[centre + i]! + spread())
}

/** Few topics, many tags, and authors of a handful of documents each, so that facets differ in size. */
const catalog = (random: Random): CatalogColumns => ({
  externalAuthorId: `author ${Math.floor(random() ** 2 * 100_000)}`,
  topics: Array.from({ length: Math.floor(random() * 4) }, () => `topic ${Math.floor(random() ** 2 * 500)}`),
  tags: Array.from({ length: Math.floor(random() * 4) }, () => `tag ${Math.floor(random() ** 3 * 50_000)}`),
  classifications: [],
  score: Math.floor(random() * 1000),
})

const drawOf = (random: Random, some: readonly string[]): string => some[Math.floor(random() * some.length)]!

/** The vectors of an instance with the default settings: a second model for English texts. */
const vectorsOf = (language: string, vector: Float32Array) =>
  [profileId, ...(language === 'en' ? [builtInModels.bgeSmallEn.id] : [])].map((id) => ({ profileId: id, vector }))

export function* corpus(chunks: number, withVectors: boolean): Generator<PutVersion> {
  const random = randomFrom(1)
  const known = randomFrom(2)
  for (let made = 0, document = 0; made < chunks; document++) {
    const id = document.toString(36).padStart(26, '0')
    const count = Math.min(chunks - made, 1 + Math.floor(random() * 3))
    const datasetId = drawOf(random, datasets)
    const platform = `p${Math.floor(random() * 3)}`
    const language = drawOf(random, languages)
    yield {
      kind: 'put_version',
      documentId: `doc_${id}`,
      versionId: `ver_${id}`,
      current: true,
      columns: {
        datasetId,
        platform,
        language,
        region: null,
        contentType: 'post',
        status: 'active',
        publishedAt: 1_700_000_000_000 + document * 60_000,
        ...catalog(known),
      },
      title: drawField(random, 5),
      chunks: Array.from({ length: count }, (_, i) => ({
        chunkId: `chk_${id.slice(2)}_${i}`,
        body: drawField(random, 25 + Math.floor(random() * 60)),
        vectors: withVectors ? vectorsOf(language, drawVector(random)) : [],
      })),
    }
    made += count
  }
}

/** Shares of the corpus, each as a number of datasets and a number of languages. */
export const scopes = { '100 %': [100, 10], '50 %': [63, 8], '5 %': [10, 5], '0.1 %': [1, 1] } as const
export type ScopeName = keyof typeof scopes

export const valuesOf = (name: ScopeName) => {
  const [datasetCount, languageCount] = scopes[name]
  return { datasets: datasets.slice(0, datasetCount), languages: languages.slice(0, languageCount) }
}

export const scopeOf = (name: ScopeName): Scope => ({
  entries: [
    {
      ...valuesOf(name),
      platforms: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: ['title', 'body'],
    },
  ],
})

const between = (random: Random, from: number, to: number): number => Math.floor(from + random() * (to - from))

/** The words of a query by rank. A low rank is a common word. */
export const draws: Readonly<Record<string, (random: Random) => string[]>> = {
  rare: (random) => [wordOf(between(random, 15_000, 40_000))],
  common: (random) => [wordOf(between(random, 10, 60))],
  'three words': (random) =>
    [between(random, 50, 300), between(random, 300, 3000), between(random, 3000, 20_000)].map(wordOf),
}
/** Three words, rare to common. */
export const drawText = (random: Random): string => draws['three words']!(random).join(' ')
