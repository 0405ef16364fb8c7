import assert from 'node:assert/strict'
import { test } from 'node:test'
import { highlightParts, withCuts } from './highlight-parts.ts'

test('matches are separated from the rest, and escaped text is decoded', () => {
  assert.deepEqual(highlightParts('<em>Tidal</em> &amp; <em>power</em> &lt;b&gt; &quot;x&#39;'), [
    { text: 'Tidal', isHit: true },
    { text: ' & ', isHit: false },
    { text: 'power', isHit: true },
    { text: ' <b> "x\'', isHit: false },
  ])
  // Decoded only once, so a text about markup shows the markup.
  assert.deepEqual(highlightParts('&amp;lt;img&amp;gt;'), [{ text: '&lt;img&gt;', isHit: false }])
  assert.deepEqual(highlightParts(''), [])
})

test('a piece has dots where it was cut within a sentence, and none if it is complete', () => {
  const cut = (text: string, whole = `Before. ${text} after.`): string =>
    withCuts(highlightParts(text), whole)
      .map((part) => part.text)
      .join('')
  assert.equal(cut('ebb was <em>high</em>'), '… ebb was high …')
  assert.equal(cut('The ebb was <em>high</em>.'), 'The ebb was high.')
  assert.equal(cut('the ebb', 'the ebb'), 'the ebb')
  assert.equal(cut('我爱机器学习'), '我爱机器学习 …')
})
