import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { BruteForceIndex, typingErrors } from '../../../test/contracts/brute-force-index.ts'
import { everything, put, timeoutMs } from '../../../test/contracts/index-under-test.ts'
import { analyse } from '../../text/analyse.ts'
import { parseQuery } from '../../text/parse-query.ts'
import type { AnalysedField, KeywordQuery, TermGroup } from '../../text/types.ts'
import { isPrefixTerm } from '../../text/word-terms.ts'
import type { TypoMode } from '../parse/search-request.ts'
import { noFilters } from '../search-index.ts'
import { correctQuery } from './correct-query.ts'

type Mode = Exclude<TypoMode, 'off'>

/** Real words in a brute-force index. */
function search(texts: Readonly<Record<string, string>>, text: string, typo: Mode, language = 'en') {
  const fields = Object.entries(texts).map(([name, body]) => [name, analyse(body, language)] as const)
  return searchFields(fields, text, parseQuery(text, [language]), typo)
}

async function searchFields(
  fields: readonly (readonly [name: string, body: AnalysedField])[],
  text: string,
  query: KeywordQuery,
  typo: Mode,
) {
  const index = new BruteForceIndex()
  const changes = fields.map(([name, body]) => {
    const made = put(name, [''])
    return { ...made, chunks: made.chunks.map((chunk) => ({ ...chunk, body })) }
  })
  await index.apply({ position: 1, changes })
  const within = { scope: everything, filters: noFilters, timeoutMs }
  const corrected = await correctQuery(index, query, { text, typo, ...within })
  assert.ok(corrected.outcome === 'corrected')
  const page = await index.keyword({ query: corrected.query, ...within, limit: 9, after: null, otherChunksMax: 0 })
  assert.ok(page.outcome === 'found')
  return {
    found: page.hits.map(({ documentId }) => documentId),
    corrections: corrected.corrections.map(({ from, to }) => `${from} ${to}`),
  }
}

suite('typing errors', () => {
  test('the corrected word is found in all its forms', async () => {
    const texts = { noun: 'a restoration', verb: 'restored at last', other: 'a station' }
    const { found, corrections } = await search(texts, 'Restoraton', 'auto')
    assert.deepEqual(found.sort(), ['noun', 'verb'])
    assert.deepEqual(corrections, ['Restoraton restoration'])
  })

  test('one error from 4 letters on, two from 8; not in words with digits, and not in short, quoted or excluded words', async () => {
    const texts = { words: 'tide harbour lighthouse b747 sea' }
    const correctionsOf = async (text: string) => (await search(texts, text, 'always')).corrections
    assert.deepEqual(await correctionsOf('tdie'), ['tdie tide'])
    assert.deepEqual(await correctionsOf('tdei'), [])
    assert.deepEqual(await correctionsOf('hrbour'), ['hrbour harbour'])
    assert.deepEqual(await correctionsOf('hrbou'), [])
    assert.deepEqual(await correctionsOf('loghthoose'), ['loghthoose lighthouse'])
    assert.deepEqual(await correctionsOf('xighthouse'), ['xighthouse lighthouse'])
    assert.deepEqual(await correctionsOf('lihgthosue'), ['lihgthosue lighthouse'])
    assert.deepEqual(await correctionsOf('loghtxosee'), [])
    assert.deepEqual(await correctionsOf('b744 see "tdie" tide -hrbour'), [])
    // An excluded word finds nothing, so it is not corrected.
    assert.deepEqual(await correctionsOf('tdie -tide'), [])
  })

  test('`auto` also corrects a word that is only found as a prefix, in a language without stems', async () => {
    const texts = { meant: 'mashua kisiwani', other: 'kisiwamoja' }
    const { found, corrections } = await search(texts, 'kisiwanai', 'auto', 'sw')
    assert.deepEqual([found.sort(), corrections], [['meant', 'other'], ['kisiwanai kisiwani']])
    assert.deepEqual((await search(texts, 'kisiwani', 'auto', 'sw')).corrections, [])
  })

  test('`auto` keeps words that are found, `always` corrects them too; matches as typed rank first', async () => {
    const sea = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`sea${i}`, 'the sea']))
    const texts = {
      rare: 'harbour, and a good deal more of other words, none of which is asked for here at all',
      near: 'harbors harbors harbors',
      none: 'sea',
    }
    assert.deepEqual(await search(texts, 'harbour', 'auto'), { found: ['rare'], corrections: [] })
    const always = await search({ ...texts, near: 'harbourx harbourx harbourx' }, 'harbour', 'always')
    assert.deepEqual(always, { found: ['rare', 'near'], corrections: ['harbour harbourx'] })
    const long = { rare: `harbour ${'other words '.repeat(100)}`, near: 'harbourx harbourx harbourx', ...sea }
    assert.deepEqual((await search(long, 'harbour', 'always')).found, ['rare', 'near'])
  })

  test('another form of a found word is not a correction', async () => {
    const { corrections } = await search({ one: 'lighthouse', more: 'lighthouses' }, 'lighthouse', 'always')
    assert.deepEqual(corrections, [])
  })

  test('a word that shares a stem in one language is corrected in texts of another', async () => {
    const texts = { game: ['a tournament', 'en'], turn: ['elle tourne', 'fr'], turned: ['il a tourné', 'fr'] } as const
    const fields = Object.entries(texts).map(([name, [body, language]]) => [name, analyse(body, language)] as const)
    const ask = (text: string) => searchFields(fields, text, parseQuery(text, null), 'always')
    const { found, corrections } = await ask('tournement')
    assert.deepEqual([found.sort(), corrections], [['game', 'turn', 'turned'], ['tournement tournament']])
    assert.deepEqual(await ask('tournement -tourne'), { found: ['game'], corrections: ['tournement tournament'] })
    assert.deepEqual((await ask('tournement -tournament')).corrections, [])
  })

  test('corrections are the similar words of texts that the query neither finds nor excludes, in any languages', async () => {
    const words =
      'tournament tournaments tourne tourner tournent tournement nation national nationale nacional nations '
        .concat('restaurant restaurants restaurer station stations statione kisiwa kisiwani kisiwanini')
        .split(' ')
    const word = fc.constantFrom(...words)
    const language = fc.constantFrom('en', 'fr', 'es', 'de', 'it', 'sv', 'tr', 'pl', 'sw', 'fi')
    const mistyped = fc.tuple(word, fc.nat(20), fc.constantFrom('', 'x', 'e', 'a')).map(([meant, at, letter]) => {
      const place = at % (meant.length + 1)
      return meant.slice(0, place) + letter + meant.slice(place + (letter === '' ? 1 : 0))
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(word, language), { minLength: 1, maxLength: 8 }),
        mistyped,
        fc.option(word),
        fc.constantFrom('auto' as const, 'always' as const),
        async (texts, typed, forbidden, typo) => {
          const text = forbidden === null ? typed : `${typed} -${forbidden}`
          const query = parseQuery(text, null)
          const groupOf = (kind: 'any' | 'mustNot'): TermGroup =>
            query.clauses.flatMap((clause) => (clause.type === 'word' && clause.kind === kind ? clause.group : []))
          const held = texts.map(([one, its], i) => ({ name: `d${i}`, word: one, field: analyse(one, its) }))
          const holds = ({ field }: (typeof held)[number], group: TermGroup) =>
            field.terms.some((term) => group.includes(term))
          const asTyped = groupOf('any').filter((term) => !isPrefixTerm(term))
          const isFound = held.some((one) => holds(one, asTyped))
          const editsMax = typed.length < 4 ? 0 : typed.length < 8 ? 1 : 2
          const isSimilar = (one: string) => one !== typed && typingErrors(typed, one, false) <= editsMax
          const missed = held
            .filter((one) => !holds(one, asTyped) && !holds(one, groupOf('mustNot')))
            .filter((one) => !(isFound && typo === 'auto') && isSimilar(one.word))
          const { found, corrections } = await searchFields(
            held.map(({ name, field }) => [name, field]),
            text,
            query,
            typo,
          )
          const meant = [...new Set(missed.map((one) => `${typed} ${one.word}`))]
          assert.deepEqual(corrections.toSorted(), meant.sort())
          for (const { name } of missed) assert.ok(found.includes(name), name)
        },
      ),
      { numRuns: 150 },
    )
  })

  test('adjacent corrected words count as adjacent words of the query', async () => {
    const texts = { apart: 'power of the moon, and tidal', together: 'the moon and tidal power' }
    assert.deepEqual((await search(texts, 'tidla power moon', 'auto')).found, ['together', 'apart'])
  })
})
