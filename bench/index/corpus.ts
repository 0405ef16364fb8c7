import type { Scope } from '../../src/access/scope.ts'
import type { CatalogColumns, PutVersion } from '../../src/search/search-index.ts'
import type { AnalysedField, Clause, ClauseKind, KeywordQuery } from '../../src/text/types.ts'

/** A Zipf corpus: documents of one to three chunks of 25 to 84 words, a title of five, 100 datasets, 10 languages. */
const vocabulary = 50_000
const datasets = 100
const languages = 10
const clusters = 2000
export const profileId = 'bench'
const dimensions = 384

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
  const wanted = random() * mass
  let low = 0
  let high = vocabulary - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (cumulative[middle]! < wanted) low = middle + 1
    else high = middle
  }
  return low
}

const words = Array.from({ length: vocabulary }, (_, rank) => `w${rank.toString(36)}`)
export const wordOf = (rank: number): string => words[rank]!

function drawField(random: Random, length: number): AnalysedField {
  const terms = Array.from({ length }, () => wordOf(drawRank(random)))
  return { terms, positions: terms.map((_, i) => i), length }
}

const centres = Float32Array.from({ length: clusters * dimensions }, gaussian(randomFrom(99)))

/** Roughly normal: the sum of four even draws. */
function gaussian(random: Random): () => number {
  return () => random() + random() + random() + random() - 2
}

/** Around one of the centres, as far from it as the centres are from each other. */
export function drawVector(random: Random): Float32Array {
  const centre = Math.floor(random() * clusters) * dimensions
  const spread = gaussian(random)
  return Float32Array.from({ length: dimensions }, (_, i) => centres[centre + i]! + spread())
}

/** Few topics, many tags, authors of a handful of documents each: what counts differ in. */
const catalog = (random: Random): CatalogColumns => ({
  authorId: `author ${Math.floor(random() ** 2 * 100_000)}`,
  topics: Array.from({ length: Math.floor(random() * 4) }, () => `topic ${Math.floor(random() ** 2 * 500)}`),
  tags: Array.from({ length: Math.floor(random() * 4) }, () => `tag ${Math.floor(random() ** 3 * 50_000)}`),
  classifications: [],
  score: Math.floor(random() * 1000),
})

export function* corpus(chunks: number, withVectors: boolean): Generator<PutVersion> {
  const random = randomFrom(1)
  const known = randomFrom(2)
  for (let made = 0, document = 0; made < chunks; document++) {
    const id = document.toString(36).padStart(26, '0')
    const count = Math.min(chunks - made, 1 + Math.floor(random() * 3))
    yield {
      kind: 'put_version',
      documentId: `doc_${id}`,
      versionId: `ver_${id}`,
      current: true,
      columns: {
        datasetId: `d${Math.floor(random() * datasets)}`,
        platform: `p${Math.floor(random() * 3)}`,
        language: `l${Math.floor(random() * languages)}`,
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
        vectors: withVectors ? [{ profileId, vector: drawVector(random) }] : [],
      })),
    }
    made += count
  }
}

/** Shares of the corpus, as first datasets times first languages. */
export const scopes = { '50 %': [63, 8], '5 %': [10, 5], '0.1 %': [1, 1] } as const
export type ScopeName = keyof typeof scopes

export function scopeOf(name: ScopeName | '100 %' | '10 %' | '1 %'): Scope {
  const sizes = { ...scopes, '100 %': [datasets, languages], '10 %': [20, 5], '1 %': [5, 2] } as const
  const [datasetCount, languageCount] = sizes[name]
  return {
    entries: [
      {
        datasets: Array.from({ length: datasetCount }, (_, i) => `d${i}`),
        platforms: null,
        languages: Array.from({ length: languageCount }, (_, i) => `l${i}`),
        regions: null,
        publishedFrom: null,
        publishedTo: null,
        fields: ['title', 'body'],
      },
    ],
  }
}

const word = (rank: number, kind: ClauseKind): Clause => ({ type: 'word', kind, weight: 1, group: [wordOf(rank)] })
const between = (random: Random, from: number, to: number) => Math.floor(from + random() * (to - from))

export interface BenchQuery {
  readonly query: KeywordQuery
  /** The same for FTS5. */
  readonly match: string
}

/** Kinds of query; ranks by how common the words are. Phrases are taken from frequent neighbours, so that some match. */
export const kinds: Record<string, (random: Random) => BenchQuery> = {
  rare: (random) => ofWords([between(random, 15_000, 40_000)], 'any'),
  common: (random) => ofWords([between(random, 10, 60)], 'any'),
  'three words OR': (random) =>
    ofWords([between(random, 50, 300), between(random, 300, 3000), between(random, 3000, 20_000)], 'any'),
  'two words AND': (random) => ofWords([between(random, 50, 300), between(random, 300, 3000)], 'must'),
  phrase: (random) => {
    const ranks = [between(random, 5, 100), between(random, 5, 300)]
    const groups = ranks.map((rank) => [wordOf(rank)])
    return {
      query: { clauses: [{ type: 'phrase', kind: 'any', weight: 1, groups }], boosts: [] },
      match: `"${ranks.map(wordOf).join(' ')}"`,
    }
  },
}

function ofWords(ranks: readonly number[], kind: 'any' | 'must'): BenchQuery {
  return {
    query: { clauses: ranks.map((rank) => word(rank, kind)), boosts: [] },
    match: ranks.map(wordOf).join(kind === 'any' ? ' OR ' : ' AND '),
  }
}
