import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Scope } from '../../src/access/scope.ts'
import type { IndexChange } from '../../src/indexing/fed-index.ts'
import { noFilters, type SearchFilters, type TypedWord } from '../../src/search/search-index.ts'
import type { AnalysedField, KeywordQuery, TermExpansion } from '../../src/text/types.ts'
import { BruteForceIndex } from './brute-force-index.ts'
import { columns, entry, everything, type IndexUnderTest, put, timeoutMs } from './index-under-test.ts'
import * as random from './random-changes.ts'

const typed = (word: string, more: Partial<TypedWord> = {}): TypedWord => ({
  word,
  group: [word],
  isPrefix: false,
  editsMax: word.length >= 8 ? 2 : 1,
  unlessFound: true,
  ...more,
})

const expandedQuery = (group: readonly string[], ...expansions: readonly TermExpansion[]): KeywordQuery => ({
  clauses: [{ type: 'word', kind: 'any', weight: 1, group, expansions }],
  boosts: [],
})

/** Words with a prefix, and corrections of a word. Neither may reveal hidden text. */
export function wordsExamples(it: () => IndexUnderTest): void {
  const similar = async (
    word: TypedWord,
    scope: Scope = everything,
    filters: SearchFilters = noFilters,
    excluded: readonly string[] = [],
  ) => {
    const page = await it().index.similarWords({ words: [word], excluded, scope, filters, limit: 10, timeoutMs })
    assert.ok(page.outcome === 'found', JSON.stringify(page))
    return page.words[0]!
  }
  const names = async (...request: Parameters<typeof similar>) =>
    (await similar(...request)).similar.map(({ word }) => word)

  test('similar words are ordered by edits, and then by the number of chunks', async () => {
    await it().start(
      put('d1', ['lighthouse keeper', 'lighthause']),
      put('d2', ['lighthause sight']),
      put('d3', ['lightbouses lighthouse2']),
    )
    assert.deepEqual(await similar(typed('lihgthouse')), {
      isFound: false,
      similar: [
        { word: 'lighthouse', edits: 1 },
        { word: 'lighthause', edits: 2 },
        { word: 'lighthouse2', edits: 2 },
      ],
    })
    assert.deepEqual(await names(typed('lighthxuse')), ['lighthause', 'lighthouse', 'lighthouse2'])
    assert.deepEqual(await names(typed('xight')), ['sight'])
    assert.deepEqual(await names(typed('nothing')), [])
  })

  test('a word that is found has similar words only on request', async () => {
    await it().start(put('d1', ['sight', 'night']), put('d2', ['fight']))
    assert.deepEqual(await similar(typed('sight')), { isFound: true, similar: [] })
    assert.deepEqual(await similar(typed('seen', { group: ['fight'] })), { isFound: true, similar: [] })
    assert.deepEqual(await names(typed('sight', { unlessFound: false })), ['fight', 'night'])
  })

  test('similar words come from chunks without the typed word and without excluded words', async () => {
    const titles: Scope = { entries: [{ ...entry, fields: ['title'] }] }
    await it().start(
      put('d1', ['sight night might', 'right']),
      put('d2', ['light tight'], { title: 'sight' }),
      put('d3', ['night light']),
      put('d4', ['right'], { columns: { datasetId: 'closed' } }),
    )
    const always = (more: Partial<TypedWord> = {}) => typed('sight', { unlessFound: false, ...more })
    assert.deepEqual(await names(always()), ['light', 'night', 'right'])
    assert.deepEqual(await names(always({ group: ['sight', 'night'] })), ['right'])
    assert.deepEqual(await names(always(), everything, noFilters, ['right']), ['light', 'night'])
    assert.deepEqual(await names(typed('xight'), everything, noFilters, ['sight', 'light']), ['right'])
    assert.deepEqual(await names(typed('xight'), everything, noFilters, ['night', 'right', 'tight']), [])
    // A term that may not be searched counts as absent.
    assert.deepEqual(await names(typed('xight'), titles, noFilters, ['light']), ['sight'])
  })

  test('the first term of a position is the word, and the others are not words', async () => {
    const body: AnalysedField = {
      terms: ['=restoration', 'restor', 'light', '=lights', 'light'],
      positions: [0, 0, 1, 2, 2],
      length: 3,
    }
    const d1 = put('d1', [''])
    await it().start({ ...d1, chunks: [{ ...d1.chunks[0]!, body }] })
    assert.deepEqual(await names(typed('restoraton')), ['restoration'])
    assert.deepEqual(await names(typed('resto', { editsMax: 2 })), [])
    assert.deepEqual(await names(typed('ligt')), ['light'])
    assert.deepEqual(await it().found('', { query: expandedQuery([], { prefix: 'restora', factor: 1 }) }), ['d1'])
    assert.deepEqual(await it().found('', { query: expandedQuery([], { prefix: '=restora', factor: 1 }) }), [])
  })

  test('a misspelled prefix is similar to the words that continue it', async () => {
    await it().start(put('d1', ['lighthouse keepers']), put('d2', ['light']))
    assert.deepEqual(await names(typed('ligthh', { isPrefix: true })), ['lighthouse'])
    assert.deepEqual(await names(typed('ligthh')), [])
    assert.deepEqual(await similar(typed('ligh', { isPrefix: true })), { isFound: true, similar: [] })
  })

  test('a word that only hidden text contains is neither similar nor matched by a prefix', async () => {
    const [titles, bodies] = [['title'] as const, ['body'] as const].map(
      (fields): Scope => ({ entries: [{ ...entry, fields }] }),
    )
    await it().start(
      put('both', ['visible body'], { title: 'secret head' }),
      put('elsewhere', ['distant'], { columns: { datasetId: 'closed' } }),
      put('before', ['earlier'], { version: 'before v0', current: false }),
      put('french', ['marchand'], { columns: { language: 'fr' } }),
    )
    const begins = (prefix: string, scope: Scope, filters: SearchFilters = noFilters) =>
      it().found('', { query: expandedQuery([], { prefix, factor: 1 }), scope, filters })
    assert.deepEqual(await names(typed('secrt'), bodies), [])
    assert.deepEqual(await names(typed('secrt'), titles), ['secret'])
    assert.deepEqual(await names(typed('visble'), titles), [])
    assert.deepEqual(await names(typed('visble'), bodies), ['visible'])
    assert.deepEqual(await names(typed('distnt')), [])
    assert.deepEqual(await names(typed('earlir')), [])
    assert.deepEqual(await names(typed('earlir'), everything, { ...noFilters, includeNonCurrent: true }), ['earlier'])
    const english = { ...noFilters, languages: ['en'] }
    assert.deepEqual(await names(typed('marchant')), ['marchand'])
    assert.deepEqual(await names(typed('marchant'), everything, english), [])
    // A hidden term counts as absent: the typed word is not found, and a correction is possible.
    assert.equal((await similar(typed('marchand'), everything, english)).isFound, false)
    assert.deepEqual(await begins('secr', bodies!), [])
    assert.deepEqual(await begins('secr', titles!), ['both'])
    assert.deepEqual(await begins('dist', everything), [])
    assert.deepEqual(await begins('earl', everything), [])
    assert.deepEqual(await begins('march', everything, english), [])
  })

  test('a removed word is not similar to anything; a frequent word and one in any of several time windows are', async () => {
    await it().start(
      put('gone', ['harbour']),
      put('often', ['lantern '.repeat(300)]),
      ...Array.from({ length: 20 }, (_, i) => put(`d${i}`, ['mooring'], { columns: { publishedAt: i } })),
    )
    assert.deepEqual(await names(typed('harbor')), ['harbour'])
    await it().apply(put('gone', ['emptied'], { version: 'gone v2' }))
    assert.deepEqual(await names(typed('harbor')), [])
    assert.deepEqual(await names(typed('lantrn')), ['lantern'])
    const within = (...windows: readonly (readonly [number, number])[]): Scope => ({
      entries: windows.map(([publishedFrom, publishedTo]) => ({ ...entry, publishedFrom, publishedTo })),
    })
    assert.deepEqual(await names(typed('moring'), within([3, 5], [15, 17])), ['mooring'])
    assert.deepEqual(await names(typed('moring'), within([20, 25], [30, 31])), [])
  })

  test('a prefix that is the whole query also counts chunks that are not listed', async () => {
    const documents = (from: number) =>
      Array.from({ length: 40 }, (_, i) =>
        put(`d${from + i}`, [i % 2 ? 'mooring rope' : `moored ${'rope '.repeat(i)}`], {
          columns: { publishedAt: from + i },
        }),
      )
    await it().start(...documents(100))
    await it().apply(...documents(200))
    const total = async (group: readonly string[], scope: Scope = everything) => {
      const query = expandedQuery(group, { prefix: 'moor', factor: 0.5 })
      const page = await it().index.keyword({ ...it().request(''), query, scope, limit: 3 })
      assert.ok(page.outcome === 'found')
      assert.ok(page.hits.length <= 3)
      return page.totalChunks
    }
    const windows = [
      [103, 105],
      [215, 217],
    ] as const
    const twoWindows: Scope = {
      entries: windows.map(([publishedFrom, publishedTo]) => ({ ...entry, publishedFrom, publishedTo })),
    }
    for (const group of [[], ['mooring']]) {
      assert.equal(await total(group), 80)
      assert.equal(await total(group, twoWindows), 4)
    }
    await it().apply(put('d230', ['emptied'], { version: 'd230 v2', columns: { publishedAt: 230 } }))
    for (const group of [[], ['mooring']]) assert.equal(await total(group), 79)
  })

  test('expansions count for less, and a prefix counts once for any number of words', async () => {
    await it().start(
      put('exact', ['harbour and much more of it besides']),
      put('near', ['harbor harbor harbor'], { title: 'harbor' }),
      put('begun', ['harbinger harbingers harbouring']),
      put('other', ['sea']),
    )
    const expansions = expandedQuery(['harbour'], { terms: ['harbor'], factor: 0.1 }, { prefix: 'harb', factor: 0.05 })
    assert.deepEqual(await it().found('', { query: expansions }), ['exact', 'near', 'begun'])
    const must = { ...expansions, clauses: expansions.clauses.map((clause) => ({ ...clause, kind: 'must' as const })) }
    assert.deepEqual(await it().found('', { query: must }), ['exact', 'near', 'begun'])
    const not = {
      ...expansions,
      clauses: expansions.clauses.map((clause) => ({ ...clause, kind: 'mustNot' as const })),
    }
    const sea = { ...expandedQuery(['sea', 'harbor']), boosts: [] }
    assert.deepEqual(await it().found('', { query: { ...sea, clauses: [...sea.clauses, ...not.clauses] } }), ['other'])
  })

  test('unusual words are answered', async () => {
    await it().start(put('d1', ['word \u{1F600}\u{1F601} \uD800 \0 ='], { columns }))
    for (const word of ['', '=', '\0', '\uD800', '\u{1F600}', 'w'.repeat(5000), '%_*']) {
      for (const isPrefix of [true, false]) await similar(typed(word, { isPrefix, unlessFound: false }))
      await it().find('', { query: expandedQuery([word], { prefix: word, factor: 1 }) })
    }
    const late = { words: [typed('word')], excluded: [], scope: everything, filters: noFilters, limit: 1, timeoutMs: 0 }
    assert.deepEqual(await it().index.similarWords(late), { outcome: 'timed_out' })
  })

  test('similar words, prefixes and their scores equal those of a brute-force index, under any scope', async () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'ä', '漢'), minLength: 1, maxLength: 6 })
    const term = fc.tuple(fc.boolean(), letters).map(([isMarked, word]) => (isMarked ? `=${word}` : word))
    const position = fc.tuple(fc.constantFrom(1, 1, 2), term, fc.array(letters, { maxLength: 2 }))
    const field = fc.array(position, { maxLength: 6 }).map((tokens): AnalysedField => {
      const made: AnalysedField = { terms: [], positions: [], length: 0 }
      for (const [step, first, others] of tokens) {
        made.length += step
        for (const one of [first, ...others]) {
          made.terms.push(one)
          made.positions.push(made.length - 1)
        }
      }
      return made
    })
    const change = fc.tuple(random.change, field, field).map(([one, title, body]): IndexChange => {
      if (one.kind !== 'put_version') return one
      return { ...one, title, chunks: one.chunks.map((chunk, i) => ({ ...chunk, body: i === 0 ? body : chunk.body })) }
    })
    const word = fc.record({
      word: letters,
      group: fc.array(letters, { maxLength: 2 }),
      isPrefix: fc.boolean(),
      editsMax: fc.constantFrom(1, 2),
      unlessFound: fc.boolean(),
    })
    const match: fc.Arbitrary<TermExpansion> = fc.oneof(
      fc.record({ terms: fc.array(term, { maxLength: 3 }), factor: fc.constantFrom(0.5, 0.1) }),
      fc.record({ prefix: letters, factor: fc.constantFrom(0.5, 0.1) }),
    )
    const clause = fc.record({
      type: fc.constant('word' as const),
      kind: fc.constantFrom('any' as const, 'any' as const, 'must' as const, 'mustNot' as const),
      weight: fc.constantFrom(1, 2),
      group: fc.array(letters, { maxLength: 2 }),
      expansions: fc.array(match, { maxLength: 2 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 3, maxLength: 25 }),
        fc.array(word, { minLength: 1, maxLength: 4 }),
        fc.array(letters, { maxLength: 2 }),
        fc.array(clause, { minLength: 1, maxLength: 3 }),
        fc.oneof(fc.constant(random.wholeScope), random.scope),
        random.filters,
        fc.option(random.conditions, { nil: undefined }),
        async (changes, words, excluded, clauses, scope, filters, conditions) => {
          const expected = new BruteForceIndex()
          await expected.apply({ position: 1, changes })
          await it().start(...changes)
          const where = conditions === undefined ? {} : { conditions }
          const similarRequest = { words, excluded, scope, filters, ...where, limit: 5, timeoutMs }
          assert.deepEqual(await it().index.similarWords(similarRequest), await expected.similarWords(similarRequest))
          const query = { clauses: clauses.slice(0, 2), boosts: clauses.slice(2) }
          const request = { ...it().request(''), query, scope, filters, ...where, explain: true }
          const [found, wanted] = [await it().index.keyword(request), await expected.keyword(request)]
          assert.ok(found.outcome === 'found' && wanted.outcome === 'found')
          assert.equal(found.totalChunks, wanted.totalChunks)
          const scores = (hits: typeof found.hits) =>
            new Map(hits.flatMap((hit) => [hit, ...hit.otherChunks]).map(({ chunkId, score }) => [chunkId, score]))
          const [ours, theirs] = [scores(found.hits), scores(wanted.hits)]
          assert.deepEqual([...ours.keys()].sort(), [...theirs.keys()].sort())
          for (const [chunk, score] of ours) assert.ok(Math.abs(score - theirs.get(chunk)!) < 1e-6)
          // Equally good chunks of a document may swap positions because of their last bits.
          for (const { parts, score } of found.hits) {
            assert.equal(parts!.length, clauses.length)
            assert.ok(Math.abs(parts!.reduce((sum, part) => sum + part, 0) - score) < 1e-9)
          }
          const partsOf = (hits: typeof found.hits) => new Map(hits.map(({ chunkId, parts }) => [chunkId, parts!]))
          const wantedParts = partsOf(wanted.hits)
          for (const [chunk, parts] of partsOf(found.hits)) {
            for (const [i, part] of wantedParts.get(chunk)?.entries() ?? [])
              assert.ok(Math.abs(part - parts[i]!) < 1e-6)
          }
          const scoring = {
            query,
            vectors: [],
            documentIds: found.hits.map(({ documentId }) => documentId),
            scope,
            filters,
          }
          const [last = ''] = scoring.documentIds.slice(-1)
          const scored = await it().index.score({ ...scoring, explain: [...scoring.documentIds, 'nothing'], timeoutMs })
          const ofLast = await it().index.score({ ...scoring, explain: [last], timeoutMs })
          assert.ok(scored.outcome === 'found' && ofLast.outcome === 'found')
          scored.scores.forEach(({ documentId, keyword }, i) => {
            if (keyword!.chunkId === found.hits[i]!.chunkId) assert.deepEqual(keyword!.parts, found.hits[i]!.parts)
            const { parts, ...score } = keyword!
            assert.deepEqual(ofLast.scores[i]!.keyword, documentId === last ? keyword : score)
          })
        },
      ),
      { numRuns: 25 },
    )
  })
}
