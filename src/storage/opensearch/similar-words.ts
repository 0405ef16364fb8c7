import type { SimilarWords, SimilarWordsPage, SimilarWordsRequest, TypedWord } from '../../search/search-index.ts'
import type { TermGroup } from '../../text/types.ts'
import { chunkField, chunksPath } from './mapping.ts'
import {
  allOf,
  conditionQueries,
  filterQueries,
  inScopeDatasets,
  oneOf,
  type Query,
  type VisibleClass,
  visibleClasses,
} from './scope-query.ts'
import { inFields, prefixQuery, termQuery } from './scope-statistics.ts'
import type { SearchCalls } from './search-calls.ts'

/** Longer words are not corrected. */
const lettersMax = 64

/**
 * Finds the words of a chunk that have a given Damerau-Levenshtein distance from the typed word, or, if `begins`, that
 * have a prefix with this distance. Computes the table row by row, as `text/edit-distance.ts` does.
 */
const similarScript = `
  def typed = params.typed; int n = typed.size(); def found = new HashSet();
  for (def field : params.fields) {
    for (String word : doc[field]) {
      int[] letters = word.codePoints().toArray(); int m = letters.length;
      if (m < n - params.edits || (!params.begins && m > n + params.edits)) { continue; }
      if (m > n + params.edits) { m = n + params.edits; }
      int[] before = new int[n + 1]; int[] last = new int[n + 1]; int[] row = new int[n + 1];
      for (int j = 0; j <= n; ++j) { last[j] = j; }
      int best = n;
      for (int i = 1; i <= m; ++i) {
        row[0] = i;
        for (int j = 1; j <= n; ++j) {
          boolean same = letters[i - 1] == typed[j - 1];
          int least = (int) Math.min(Math.min(last[j] + 1, row[j - 1] + 1), last[j - 1] + (same ? 0 : 1));
          if (i > 1 && j > 1 && letters[i - 1] == typed[j - 2] && letters[i - 2] == typed[j - 1]) {
            least = (int) Math.min(least, before[j - 2] + 1);
          }
          row[j] = least;
        }
        if (params.begins && row[n] < best) { best = row[n]; }
        int[] spare = before; before = last; last = row; row = spare;
      }
      int distance = params.begins ? best : last[n];
      if (distance == params.distance) { found.add(word); }
    }
  }
  return new ArrayList(found);
`

interface Answer {
  readonly aggregations: { readonly chunks: Readonly<Record<string, AnswerOfClass>> }
}
type AnswerOfClass = Readonly<Record<string, { readonly doc_count: number } & Readonly<Record<string, Words>>>>
interface Words {
  readonly buckets: readonly { readonly key: string; readonly doc_count: number }[]
}

/** The number of words that each class returns. Words of several classes are merged. */
const wordsMax = 1000

export async function findSimilarWords(calls: SearchCalls, request: SimilarWordsRequest): Promise<SimilarWordsPage> {
  const classes = visibleClasses(request.scope)
  const nothing: SimilarWords = { isFound: false, similar: [] }
  if (classes.length === 0) return { outcome: 'found', words: request.words.map(() => nothing) }
  const filters = filterQueries(request.filters)
  const conditions = conditionQueries(request.conditions, classes, request.filters.includeNonCurrent)
  const aggs = classes.map((one, i) => [
    `class${i}`,
    {
      filter: allOf(one.filter, ...filters),
      aggs: Object.fromEntries(
        request.words.flatMap((word, j) => [
          [`found${j}`, { filter: isWordFound(word, one) }],
          [`similar${j}`, { filter: mayHoldSimilar(word, request.excluded, one), aggs: wordsAggregations(word, one) }],
        ]),
      ),
    },
  ])
  const answer = await calls.search<Answer>({
    size: 0,
    track_total_hits: false,
    query: allOf(inScopeDatasets(request.scope), ...conditions),
    aggs: { chunks: { nested: { path: chunksPath }, aggs: Object.fromEntries(aggs) } },
  })
  const answers = classes.map((_, i) => answer.aggregations.chunks[`class${i}`]!)
  return {
    outcome: 'found',
    words: request.words.map((word, j) => {
      const isFound = answers.some((one) => one[`found${j}`]!.doc_count > 0)
      if (isFound && word.unlessFound) return { isFound, similar: [] }
      const similar = edits(word).flatMap((n) => {
        const counts = new Map<string, number>()
        for (const one of answers) {
          for (const { key, doc_count } of one[`similar${j}`]![`edits${n}`]!.buckets) {
            counts.set(key, (counts.get(key) ?? 0) + doc_count)
          }
        }
        return Array.from(counts)
          .sort(([a, inA], [b, inB]) => inB - inA || (a < b ? -1 : 1))
          .map(([near]) => ({ word: near, edits: n }))
      })
      return { isFound, similar: similar.slice(0, request.limit) }
    }),
  }
}

const edits = ({ editsMax }: TypedWord): readonly number[] => (editsMax > 1 ? [1, 2] : [1])

function isWordFound({ word, group, isPrefix }: TypedWord, one: VisibleClass): Query {
  return oneOf([holdsOneOf(group, one), ...(isPrefix ? [inFields(one, prefixQuery(word))] : [])])
}

const holdsOneOf = (group: TermGroup, one: VisibleClass): Query =>
  oneOf(group.map((term) => inFields(one, termQuery(term))))

/** Chunks with a word that could be similar, without those that the word finds or that are excluded. */
const mayHoldSimilar = (word: TypedWord, excluded: TermGroup, one: VisibleClass): Query => ({
  bool: { filter: [mayBeSimilar(word, one)], must_not: [holdsOneOf([...word.group, ...excluded], one)] },
})

/**
 * Chunks with a word that could be similar. By the pigeonhole principle, if the word is split into more pieces than its
 * errors can touch, a similar word contains at least one piece unchanged, moved by at most as many positions as errors.
 */
function mayBeSimilar({ word, editsMax }: TypedWord, one: VisibleClass): Query {
  const letters = [...word]
  // A transposition of two letters may touch two pieces.
  const pieces = 2 * editsMax + 1
  const size = Math.floor(letters.length / pieces)
  if (letters.length > lettersMax) return { match_none: {} }
  if (size === 0) return { match_all: {} }
  const patterns = Array.from({ length: pieces }, (_, i) => {
    const piece = letters.slice(i * size, (i + 1) * size).map(literal)
    return `.{${Math.max(0, i * size - editsMax)},${i * size + editsMax}}${piece.join('')}.*`
  })
  return inFields(one, (field) => ({ regexp: { [chunkField(`${field}_words`)]: { value: patterns.join('|') } } }))
}

/** Escapes a letter for the cluster's regular expressions. */
const literal = (letter: string): string => (/[\p{L}\p{N}]/u.test(letter) ? letter : `\\${letter}`)

function wordsAggregations(typed: TypedWord, one: VisibleClass): object {
  const letters = Array.from(typed.word, (letter) => letter.codePointAt(0)!).slice(0, lettersMax)
  const fields = [...(one.title ? ['title_words'] : []), ...(one.body ? ['body_words'] : [])].map(chunkField)
  const params = { typed: letters, fields, edits: typed.editsMax, begins: typed.isPrefix }
  const words = (distance: number) => ({
    terms: {
      size: wordsMax,
      shard_size: 10 * wordsMax,
      order: [{ _count: 'desc' }, { _key: 'asc' }],
      script: { source: similarScript, params: { ...params, distance } },
    },
  })
  return Object.fromEntries(edits(typed).map((distance) => [`edits${distance}`, words(distance)]))
}
