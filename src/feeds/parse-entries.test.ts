import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchEntries } from './match-entries.ts'
import { parseEntries } from './parse-entries.ts'

const parse = (text: string) => parseEntries(text, 'https://example.org/feed', 100, undefined)

test('RSS, Atom, RDF and JSON Feed become the same kind of document', () => {
  const rss = `<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"
    xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>T</title><language>en-GB</language>
    <item><title>The &lt;b&gt;tide&lt;/b&gt;</title><link>/a</link><guid isPermaLink="false">g1</guid>
    <pubDate>Tue, 10 Nov 2026 08:00:00 +0100</pubDate><dc:creator>Ann</dc:creator><category>sea</category>
    <category>sea</category><description>short</description>
    <content:encoded><![CDATA[<p>It rises.</p><p>It falls.</p>]]></content:encoded></item>
    <item><description></description></item></channel></rss>`
  assert.deepEqual(parse(rss), [
    {
      external_id: 'g1',
      content_type: 'article',
      title: 'The tide',
      body: 'It rises.\n\nIt falls.',
      url: 'https://example.org/a',
      language: 'en',
      published_at: '2026-11-10T07:00:00.000Z',
      author: { external_author_id: 'Ann', nickname: 'Ann' },
      tags: ['sea'],
    },
  ])
  const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>u</id><author><name>All</name></author>
    <entry xml:lang="fr"><id>e1</id><title>E</title><link href="https://x.org/y"/><updated>2026-11-10T08:00:00Z</updated>
    <author><name>B</name><uri>https://b.org/</uri></author><category term="t" label="L"/>
    <content type="html">&lt;p&gt;Bonjour&lt;/p&gt;</content></entry>
    <entry><id>e2</id><title>F</title><updated>never</updated><summary>a &lt; b</summary></entry></feed>`
  assert.deepEqual(parse(atom), [
    {
      external_id: 'e1',
      content_type: 'article',
      title: 'E',
      body: 'Bonjour',
      url: 'https://x.org/y',
      language: 'fr',
      published_at: '2026-11-10T08:00:00.000Z',
      author: { external_author_id: 'https://b.org/', nickname: 'B', home_page: 'https://b.org/' },
      tags: ['L'],
    },
    {
      external_id: 'e2',
      content_type: 'article',
      title: 'F',
      body: 'a < b',
      author: { external_author_id: 'All', nickname: 'All' },
    },
  ])
  const json = JSON.stringify({
    version: 'https://jsonfeed.org/version/1.1',
    title: 'J',
    items: [
      { id: '1', url: 'https://a.org/', content_html: '<p>Dies ist nicht die ganze Wahrheit und wir wissen das.</p>' },
      { id: 'x'.repeat(600), content_text: 'plain <b>' },
    ],
  })
  const [first, second] = parse(json)
  assert.deepEqual([first!.language, first!.external_id], ['de', '1'])
  assert.match(second!.external_id, /^sha256:/)
  assert.equal(second!.body, 'plain <b>')
  const rdf = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
    <channel rdf:about="https://example.org/"><title>T</title></channel>
    <item rdf:about="https://example.org/1"><title>One</title><link>https://example.org/1</link></item></rdf:RDF>`
  assert.deepEqual(
    parse(rdf).map(({ external_id, title }) => [external_id, title]),
    [['https://example.org/1', 'One']],
  )
})

test('an entry without an id gets a stable one; entries are bounded and unique', () => {
  const item = '<item><title>No name</title></item>'
  const feed = `<rss version="2.0"><channel><title>T</title>${item.repeat(3)}</channel></rss>`
  const [one, ...more] = parse(feed)
  assert.equal(more.length, 0)
  assert.equal(parse(feed)[0]!.external_id, one!.external_id)
  const many = Array.from({ length: 50 }, (_, i) => `<item><guid>${i}</guid><title>t</title></item>`).join('')
  assert.equal(parseEntries(`<rss version="2.0"><channel>${many}</channel></rss>`, 'https://a.org', 7, 'de').length, 7)
})

test('no text makes the parser fail in another way than by reporting that it is not a feed', () => {
  const part = fc.constantFrom(
    '<rss',
    ' version="2.0">',
    '<channel>',
    '<item>',
    '</item>',
    '<title>',
    '<![CDATA[',
    ']]>',
    '&',
    '{"version":"https://jsonfeed.org/version/1"',
    '}',
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(part, fc.string()), { maxLength: 20 }), (parts) => {
      try {
        parse(parts.join(''))
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof TypeError) && !(error instanceof RangeError))
      }
    }),
    { numRuns: 500 },
  )
})

test('a query chooses entries as keyword search does', () => {
  const entry = (id: string, title: string, body = '') =>
    ({ external_id: id, content_type: 'article', title, body }) as const
  const entries = [
    entry('a', 'Harbours of the north'),
    entry('b', 'Weather', 'the harbour is closed'),
    entry('c', 'Harbour fire', 'a fire in the harbour'),
    entry('d', 'Something else'),
  ]
  const ids = (query: string) => matchEntries(entries, query).map(({ external_id }) => external_id)
  assert.deepEqual(ids('harbour fire'), ['c', 'a', 'b'])
  assert.deepEqual(ids('+fire harbour'), ['c'])
  assert.deepEqual(ids('harbour -fire'), ['a', 'b'])
  assert.deepEqual(ids('"harbour is closed"'), ['b'])
  assert.deepEqual(ids('nothing'), [])
  assert.deepEqual(ids('!?'), [])
})
