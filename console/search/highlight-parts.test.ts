import assert from 'node:assert/strict'
import { test } from 'node:test'
import { highlightParts } from './highlight-parts.ts'

test('hits are apart from the rest, and what was escaped is text again', () => {
  assert.deepEqual(highlightParts('<em>Tidal</em> &amp; <em>power</em> &lt;b&gt; &quot;x&#39;'), [
    { text: 'Tidal', isHit: true },
    { text: ' & ', isHit: false },
    { text: 'power', isHit: true },
    { text: ' <b> "x\'', isHit: false },
  ])
  // Escaped twice is escaped once: a text that shows markup shows it.
  assert.deepEqual(highlightParts('&amp;lt;img&amp;gt;'), [{ text: '&lt;img&gt;', isHit: false }])
  assert.deepEqual(highlightParts(''), [])
})
