import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { BruteForceIndex } from '../../test/contracts/brute-force-index.ts'
import { everything, put, timeoutMs } from '../../test/contracts/index-under-test.ts'
import { analyse } from '../text/analyse.ts'
import { parseQuery } from '../text/parse-query.ts'
import { correctQuery, type TypoMode } from './correct-query.ts'
import { noFilters } from './search-index.ts'

/** Real words over an index that looks at everything. */
async function search(
  texts: Readonly<Record<string, string>>,
  text: string,
  typo: Exclude<TypoMode, 'off'>,
  language = 'en',
) {
  const index = new BruteForceIndex()
  const changes = Object.entries(texts).map(([name, body]) => {
    const made = put(name, [''])
    return { ...made, chunks: made.chunks.map((chunk) => ({ ...chunk, body: analyse(body, language) })) }
  })
  await index.apply({ position: 1, changes })
  const within = { scope: everything, filters: noFilters, timeoutMs }
  const corrected = await correctQuery(index, parseQuery(text, [language]), { text, typo, ...within })
  assert.ok(corrected.outcome === 'corrected')
  const page = await index.keyword({ query: corrected.query, ...within, limit: 9, after: null, otherChunksMax: 0 })
  assert.ok(page.outcome === 'found')
  return {
    found: page.hits.map(({ documentId }) => documentId),
    corrections: corrected.corrections.map(({ from, to }) => `${from} ${to}`),
  }
}

suite('typing errors', () => {
  test('what was meant is found in all its forms', async () => {
    const texts = { noun: 'a restoration', verb: 'restored at last', other: 'a station' }
    const { found, corrections } = await search(texts, 'Restoraton', 'auto')
    assert.deepEqual(found.sort(), ['noun', 'verb'])
    assert.deepEqual(corrections, ['Restoraton restoration'])
  })

  test('one error from 4 letters on, two from 8; words with digits, short, quoted and forbidden ones are left alone', async () => {
    const texts = { words: 'tide harbour lighthouse b747 sea' }
    const meant = async (text: string) => (await search(texts, text, 'always')).corrections
    assert.deepEqual(await meant('tdie'), ['tdie tide'])
    assert.deepEqual(await meant('tdei'), [])
    assert.deepEqual(await meant('hrbour'), ['hrbour harbour'])
    assert.deepEqual(await meant('hrbou'), [])
    assert.deepEqual(await meant('loghthoose'), ['loghthoose lighthouse'])
    assert.deepEqual(await meant('xighthouse'), ['xighthouse lighthouse'])
    assert.deepEqual(await meant('lihgthosue'), ['lihgthosue lighthouse'])
    assert.deepEqual(await meant('loghtxosee'), [])
    assert.deepEqual(await meant('b744 see "tdie" tide -hrbour'), [])
    // What is excluded could find nothing.
    assert.deepEqual(await meant('tdie -tide'), [])
  })

  test('what is found by its first letters alone, in a language without stems, is corrected by `auto` too', async () => {
    const texts = { meant: 'mashua kisiwani', other: 'kisiwamoja' }
    const { found, corrections } = await search(texts, 'kisiwanai', 'auto', 'sw')
    assert.deepEqual([found.sort(), corrections], [['meant', 'other'], ['kisiwanai kisiwani']])
    assert.deepEqual((await search(texts, 'kisiwani', 'auto', 'sw')).corrections, [])
  })

  test('`auto` leaves alone what is found, `always` does not; what is there as typed comes first', async () => {
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

  test('another form of a word that is found is no correction', async () => {
    const { corrections } = await search({ one: 'lighthouse', more: 'lighthouses' }, 'lighthouse', 'always')
    assert.deepEqual(corrections, [])
  })

  test('corrected words side by side count as neighbours do', async () => {
    const texts = { apart: 'power of the moon, and tidal', together: 'the moon and tidal power' }
    assert.deepEqual((await search(texts, 'tidla power moon', 'auto')).found, ['together', 'apart'])
  })
})
