import type { PutVersion } from '../../src/search/search-index.ts'
import type { AnalysedField } from '../../src/text/types.ts'
import { type Random, randomFrom } from '../index/corpus.ts'

/**
 * Chunks of 30 words: 20,000 common ones as often as they are in a language, and others that stand in one chunk only,
 * as most words of a large collection do. Half of the words are indexed by a stem too.
 */
const common = 20_000
const wordsOfChunk = 30
const datasets = 20
const consonants = 'b c d f g h j k l m n p r s t v w z br cl dr fl gr pl st tr sh th ch qu'.split(' ')
const vowels = 'a e i o u y ai ea io ou'.split(' ')
const endings = ' n r s t l nd st ng'.split(' ')
const syllables = consonants.flatMap((first) => vowels.flatMap((vowel) => endings.map((end) => first + vowel + end)))

/** The same word for the same number. Shorter ones are more common. */
export function wordOf(number: number): string {
  let word = ''
  // Numbers that follow each other give words that do not look alike.
  for (let left = number; word === '' || left > 0; left = Math.floor(left / syllables.length)) {
    word += syllables[(left * 1597 + word.length * 389) % syllables.length]
  }
  return word
}

export function commonWord(random: Random): string {
  return wordOf(Math.floor(common ** random()) - 1)
}

function fieldOf(words: readonly string[]): AnalysedField {
  const field: AnalysedField = { terms: [], positions: [], length: words.length }
  for (const [position, word] of words.entries()) {
    const terms = word.length % 2 === 0 ? [word] : [`=${word}`, word.slice(0, -1)]
    field.terms.push(...terms)
    field.positions.push(...terms.map(() => position))
  }
  return field
}

/** Stops giving new words when about `terms` terms are there. */
export function* corpus(chunks: number, terms: number): Generator<PutVersion> {
  const random = randomFrom(1)
  // A word that is stemmed has two terms.
  const rarePerChunk = terms / 1.5 / chunks
  let rare = common
  for (let i = 0; i < chunks; i++) {
    const id = i.toString(36).padStart(26, '0')
    const words = Array.from({ length: wordsOfChunk }, () => commonWord(random))
    while (rare - common < rarePerChunk * (i + 1)) words.push(wordOf(rare++))
    yield {
      kind: 'put_version',
      documentId: `doc_${id}`,
      versionId: `ver_${id}`,
      current: true,
      columns: {
        datasetId: `d${i % datasets}`,
        platform: 'p',
        language: 'en',
        region: null,
        contentType: 'post',
        status: 'active',
        publishedAt: 1_700_000_000_000 + i,
        authorId: null,
        topics: [],
        tags: [],
        classifications: [],
        score: null,
      },
      title: fieldOf([commonWord(random), commonWord(random)]),
      chunks: [{ chunkId: `chk_${id}`, body: fieldOf(words), vectors: [] }],
    }
  }
}
