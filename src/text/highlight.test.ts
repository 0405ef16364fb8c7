import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryLanguage, arbitraryText } from './arbitrary-text.ts'
import { highlight, summarise } from './highlight.ts'
import { parseQuery } from './parse-query.ts'

const TEXT =
  'The Panthers defense gave up just 308 points, ranking sixth in the league, while also leading the NFL in interceptions with 24 and boasting four Pro Bowl selections. Pro Bowl defensive tackle Kawann Short led the team in sacks with 11, while also forcing three fumbles and recovering two.'

function mark(text: string, language: string | null, query: string): string[] {
  return highlight(text, language, parseQuery(query, null))
}

test('stemmed and folded words are marked in their written form', () => {
  assert.deepEqual(mark('She runs; her Résumés ran.', 'en', 'running resume'), [
    'She <em>runs</em>; her <em>Résumés</em> ran.',
  ])
  assert.deepEqual(mark('Die Häuser', 'de', 'haus'), ['Die <em>Häuser</em>'])
})

test('words with the last query word as a prefix are marked whole', () => {
  const prefixQuery = parseQuery('the resto', ['en'], { lastIsPrefix: true })
  assert.deepEqual(highlight('Restored: a RESTORATION, restful.', 'en', prefixQuery), [
    '<em>Restored</em>: a <em>RESTORATION</em>, restful.',
  ])
})

test('the text is escaped', () => {
  assert.deepEqual(mark('<b>"dogs"</b> & the dog\'s', 'en', 'dog'), [
    '&lt;b&gt;&quot;<em>dogs</em>&quot;&lt;/b&gt; &amp; the <em>dog&#39;s</em>',
  ])
})

test('a phrase has one mark, and its words elsewhere have none', () => {
  assert.deepEqual(mark('pro, then Pro Bowl', 'en', '"pro bowl"'), ['pro, then <em>Pro Bowl</em>'])
  assert.deepEqual(mark('a cat and a dog', 'en', 'cat -dog'), ['a <em>cat</em> and a dog'])
})

test('the pairs of a Chinese word have one mark', () => {
  assert.deepEqual(mark('我爱机器学习吗', 'zh', '机器学习'), ['我爱<em>机器学习</em>吗'])
})

test('fragments are the parts with the most clauses of the query, in order and without overlap', () => {
  const fragments = mark(TEXT, 'en', 'panthers points "pro bowl" fumbles')
  assert.equal(fragments.length, 2)
  assert.match(fragments[0]!, /^The <em>Panthers<\/em> .*<em>points<\/em>/u)
  assert.match(fragments[1]!, /<em>fumbles<\/em>/u)
  assert.deepEqual(mark(TEXT, 'en', 'zebra'), [])
})

test('a summary lies around the best match', () => {
  const query = (text: string) => parseQuery(text, ['en'])
  assert.match(summarise(TEXT, 'en', query('fumbles sacks'), 120), /sacks with 11.*fumbles/u)
  assert.ok(TEXT.startsWith(summarise(TEXT, 'en', query('zebra'), 60)))
  assert.equal(summarise(` ${TEXT} `, 'en', query('fumbles'), 500), TEXT)
  assert.equal(summarise('', 'en', query('fumbles'), 500), '')
})

const unmark = (html: string): string =>
  html
    .replace(/<\/?em>/gu, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** A text and a query that is a part of it. */
const textAndQuery = fc
  .tuple(arbitraryText, fc.nat(), fc.nat(40))
  .map(([text, at, length]) => [text, text.slice(at % (text.length + 1)).slice(0, length)] as const)

test('fragments are parts of the text, bounded, balanced and escaped', () => {
  fc.assert(
    fc.property(textAndQuery, arbitraryLanguage, ([text, words], language) => {
      const query = parseQuery(words, language === null ? null : [language])
      const fragments = highlight(text, language, query, { fragmentLength: 60 })
      assert.ok(fragments.length <= 3)
      for (const html of fragments) {
        const bare = unmark(html)
        assert.ok(text.includes(bare) && bare.length <= 60 && bare.length > 0)
        assert.doesNotMatch(html.replace(/<em>[^<]+<\/em>/gu, ''), /[<>"']|&(?!(?:lt|gt|quot|amp|#39);)/u)
        assert.match(html, /<em>/u)
      }
    }),
  )
})

test('summaries are parts of the text, bounded, and split no pair', () => {
  fc.assert(
    fc.property(textAndQuery, arbitraryLanguage, fc.integer({ min: 1, max: 80 }), ([text, words], language, length) => {
      const summary = summarise(text, language, parseQuery(words, null), length)
      assert.ok(text.includes(summary) && summary.length <= length)
      const at = text.indexOf(summary)
      if (text.isWellFormed() && length > 1) assert.ok(summary.isWellFormed(), JSON.stringify([text, at, summary]))
    }),
  )
})
