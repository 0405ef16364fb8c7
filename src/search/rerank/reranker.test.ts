import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryText } from '../../text/arbitrary-text.ts'
import { parseQuery } from '../../text/parse-query.ts'
import { defaultRerankWeights, type Reranked, type RerankInput, rerankerOf } from './reranker.ts'

const partsAddUp = ({ score, parts }: Reranked) => {
  const sum = Object.values(parts).reduce((total, part) => total + part, 0)
  assert.ok(Math.abs(sum - score) < 1e-12, `${sum} for ${score}`)
  return score
}
const reranker = (query: string) => {
  const rerank = rerankerOf(parseQuery(query, null), query, defaultRerankWeights)
  return (input: RerankInput) => partsAddUp(rerank(input))
}
const document = (fields: Partial<RerankInput>): RerankInput => ({
  score: 0.5,
  title: '',
  body: '',
  language: 'en',
  ...fields,
})
const score = (query: string, fields: Partial<RerankInput>): number => reranker(query)(document(fields))

test('every score is from 0 to 1 for any query and texts', () => {
  const language = fc.constantFrom(null, 'en', 'de', 'zh', 'xx')
  const fused = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(arbitraryText, arbitraryText, arbitraryText, language, fused, (query, title, body, code, value) => {
      const given = score(query, { score: value, title, body, language: code })
      assert.ok(given >= 0 && given <= 1, String(given))
      const itself = score(query, { score: value, title: query, body: query, language: code })
      assert.ok(itself >= 0 && itself <= 1, String(itself))
    }),
  )
})

test('a higher fused score never lowers the score', () => {
  const words = fc.array(fc.constantFrom('tidal', 'power', 'of', 'the', 'storm', 'sea'), { maxLength: 8 })
  const fused = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(words, words, words, fused, fused, (query, title, body, one, other) => {
      const texts = { title: title.join(' '), body: body.join(' ') }
      const rerank = reranker(query.join(' '))
      const low = rerank(document({ ...texts, score: Math.min(one, other) }))
      assert.ok(rerank(document({ ...texts, score: Math.max(one, other) })) >= low)
    }),
  )
})

test('a candidate without texts never ranks above one with texts and the same fused score', () => {
  const words = fc.array(fc.constantFrom('tidal', 'power', 'of', 'storm'), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(words, words, fc.double({ min: 0, max: 1, noNaN: true }), (query, body, fused) => {
      const rerank = reranker(query.join(' '))
      assert.ok(rerank(document({ score: fused, body: body.join(' ') })) >= rerank(document({ score: fused })))
    }),
  )
})

/**
 * Compares the worst exact hits with the best near misses, because only another exact hit may rank before an exact hit.
 */
const exactHits: [query: string, exact: Partial<RerankInput>, nearMiss: Partial<RerankInput>][] = [
  ['tidal power', { title: 'Tidal power' }, { title: 'Tidal power in Wales', body: 'tidal power tidal power' }],
  ['beatles', { title: 'The Beatles' }, { title: 'Beatles songs', body: 'beatles beatles beatles' }],
  ['the theory of relativity', { title: 'Theory of Relativity' }, { title: 'Relativity, a theory' }],
  [
    'who wrote the origin of species',
    { body: 'He who wrote the origin of species.' },
    { body: 'origin: wrote species' },
  ],
  ['great barrier reef', { body: 'near the Great Barrier Reef' }, { title: 'Reef', body: 'a great reef, a barrier' }],
  ['"tidal power"', { body: 'of tidal power' }, { title: 'Power', body: 'power that is tidal' }],
  ['"tidal power" "in wales"', { body: 'in Wales, tidal power' }, { title: 'Power', body: 'tidal power of Wales' }],
  [
    'Theorie der Relativität',
    { title: 'Theorie der Relativität', language: 'de' },
    { title: 'Relativität', language: 'de' },
  ],
  ['机器学习', { title: '机器学习', language: 'zh' }, { body: '学习机器', language: 'zh' }],
  ['ยินดีต้อนรับ', { title: 'ยินดีต้อนรับ', language: 'th' }, { body: 'ต้อนรับ', language: 'th' }],
]
for (const [query, exact, nearMiss] of exactHits) {
  test(`${query}: the exact hit ranks before a near miss for any fused scores`, () => {
    const worst = score(query, { ...exact, score: 0 })
    const best = score(query, { ...nearMiss, score: 1 })
    assert.ok(worst > best, `${worst} ${best}`)
  })
}

test('a title without a language is analysed in its guessed language', () => {
  const texts = { title: 'Die Theorie der Relativität', body: 'Es ist die Theorie, die er in der Zeit schrieb.' }
  assert.ok(score('Theorie der Relativität', { ...texts, language: null, score: 0 }) >= 0.9)
})

test('a quote within a question counts, but is not an exact hit', () => {
  const query = 'which storms broke the "tidal power" plants'
  const quote = { body: 'about tidal power' }
  const answer = { body: 'which storms broke the plants of power from the tides' }
  assert.ok(score(query, { ...quote, score: 0.4 }) < score(query, { ...answer, score: 0.6 }))
})

test('a phrase of two words ranks before the same words apart', () => {
  const phrase = score('tidal power', { body: 'the new tidal power of Wales and more of it' })
  const scattered = score('tidal power', { body: 'the new tidal plant of Wales gives power to it' })
  assert.ok(phrase > scattered)
})

test('words close together rank before words far apart', () => {
  const filler = 'and so on '.repeat(20)
  const close = score('tidal turbine', { body: `turbine for tidal energy ${filler}` })
  const far = score('tidal turbine', { body: `turbine ${filler} for tidal energy` })
  assert.ok(close > far)
})

test('more words, and words in the title, increase the score', () => {
  const one = score('tidal turbine wales', { body: 'a tidal plant' })
  const two = score('tidal turbine wales', { body: 'a tidal plant in wales' })
  const title = score('tidal turbine wales', { title: 'Wales', body: 'a tidal plant in wales' })
  assert.ok(two > one && title > two)
})

test('excluded words do not count, and a query without words keeps the order', () => {
  assert.equal(score('tidal -power', { body: 'tidal power' }), score('tidal -power', { body: 'tidal' }))
  for (const query of ['-power', '!?', '']) {
    assert.ok(score(query, { score: 0.6, body: 'power' }) > score(query, { score: 0.5, body: 'power' }))
  }
})
