import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { htmlToText } from './html-to-text.ts'

test('paragraphs, lines and lists are separated; markup, scripts and comments are removed; entities are decoded', () => {
  const cases: [string, string][] = [
    ['<p>One</p><p>Two</p>', 'One\n\nTwo'],
    ['a<br>b<br/>c', 'a\nb\nc'],
    ['<ul><li>x<li>y</ul>', '- x\n- y'],
    ['<script>if (a < b) "</p>"</script>text', 'text'],
    ['<STYLE>p{}</style >text', 'text'],
    ['a<!-- <b> -->b', 'ab'],
    ['&lt;b&gt; &amp;amp; &eacute;&#x20AC;&nbsp;x', '<b> &amp; é€ x'],
    ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
    ['<a title="a > b">link</a>', 'link'],
    ['cut <b', 'cut'],
    ['<td>a</td><td>b</td>', 'a b'],
    ['<![CDATA[x]]>', ''],
    ['', ''],
  ]
  for (const [html, text] of cases) assert.equal(htmlToText(html), text, html)
})

test('any text is read to its end, and the result is trimmed', () => {
  const part = fc.constantFrom(
    '<',
    '>',
    '</',
    '<p',
    'p>',
    '<script',
    '</script',
    '"',
    "'",
    '<!--',
    '-->',
    '&',
    '&lt',
    'x',
    ' ',
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(part, fc.string()), { maxLength: 40 }), (parts) => {
      const text = htmlToText(parts.join(''))
      assert.equal(text, text.trim())
    }),
    { numRuns: 1000 },
  )
})

test('hostile markup takes time in proportion to its length', () => {
  const started = performance.now()
  for (const piece of ['<', '<a "', '</scrip', '<script>', '<!--', '&', '<p ', '\n \t'])
    htmlToText(piece.repeat(50_000))
  assert.ok(performance.now() - started < 10_000)
})
