import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { documentFields, emptyValues } from '../../../test/support/document-fields.ts'
import { fieldPermissions, type Scope, type ScopeEntry } from '../../access/scope.ts'
import { parseQuery } from '../../text/parse-query.ts'
import { checkSearch, type SearchBody } from '../parse/search-request.ts'
import type { DocumentDetails, ShownChunk } from '../search-source.ts'
import type { FoundDocument } from './found-document.ts'
import { presentResults } from './present-results.ts'

const entry: ScopeEntry = {
  datasets: ['d'],
  platforms: null,
  languages: null,
  regions: null,
  publishedFrom: null,
  publishedTo: null,
  fields: fieldPermissions,
}
const chunk = (number: number, fields: Partial<ShownChunk> = {}): ShownChunk => ({
  chunkId: `chk_${number}`,
  documentId: `doc_${number}`,
  versionId: `ver_${number}`,
  ordinal: 0,
  title: 'A heron',
  language: 'en',
  text: 'The heron stands still.',
  document: {
    datasetId: 'd',
    platform: 'p',
    language: 'en',
    region: null,
    publishedAt: 0,
    contentType: 'post',
    status: 'active',
  },
  details: null,
  ...fields,
})
const noDetails = emptyValues(
  'property',
  documentFields.filter(({ result }) => result === 'details'),
) as Partial<DocumentDetails> as DocumentDetails
const details = (number: number, fields: Partial<DocumentDetails> = {}): DocumentDetails => ({
  ...noDetails,
  externalId: `${number}`,
  url: `https://example.com/${number}`,
  author: { externalAuthorId: 'u1', nickname: 'Heron' },
  topics: ['birds'],
  tags: ['reed'],
  language: 'en',
  ...fields,
})
const found = (number: number, others: readonly number[] = []): FoundDocument => ({
  documentId: `doc_${number}`,
  best: { chunkId: `chk_${number}`, versionId: `ver_${number}`, score: 2 },
  others: others.map((one) => ({ chunkId: `chk_${one}`, versionId: `ver_${number}`, score: 1 })),
  score: 2,
  keywordScore: 2,
  vectorScore: null,
  rerankScore: null,
  explanation: null,
})

let calls = 0
async function present(
  body: SearchBody,
  hits: readonly FoundDocument[],
  chunks: readonly ShownChunk[],
  scope: Scope = { entries: [entry] },
  describe = details,
) {
  const request = checkSearch(body, null, 3)
  calls = 0
  const source = {
    shownChunks: async (chunkIds: readonly string[], withDetails: boolean) => {
      calls++
      const found = chunks.filter(({ chunkId }) => chunkIds.includes(chunkId))
      const numberOf = ({ documentId }: ShownChunk) => Number(documentId.slice('doc_'.length))
      return found.map((one) => ({ ...one, details: withDetails ? describe(numberOf(one)) : null }))
    },
  }
  const page = { ...request, found: hits, query: parseQuery(request.text, null) }
  return (await presentResults(source, page, scope)).results
}

suite('search results', () => {
  test('one page needs one call to the store', async () => {
    assert.equal((await present({ query: 'heron' }, [found(1), found(2)], [chunk(1), chunk(2)])).length, 2)
    assert.equal(calls, 1)
    const fields: SearchBody['fields'] = ['title', 'region', 'status']
    const [read] = await present({ query: 'heron', fields }, [found(1)], [chunk(1)])
    assert.deepEqual([read!.title, read!.region, read!.status, read!.url], ['A heron', null, 'active', undefined])
    const [whole] = await present({ query: 'heron' }, [found(1)], [chunk(1)])
    assert.deepEqual([whole!.title, whole!.url], ['A heron', 'https://example.com/1'])
    assert.deepEqual(await present({ query: 'heron' }, [], []), [])
  })

  test('documents that have been removed or hidden since the search are left out', async () => {
    const hidden = chunk(2, { document: { ...chunk(2).document, datasetId: 'elsewhere' } })
    const results = await present({ query: 'heron' }, [found(1), found(2), found(3)], [chunk(1), hidden])
    assert.deepEqual(
      results.map(({ document_id }) => document_id),
      ['doc_1'],
    )
  })

  test('show only texts that an entry that matches the document opens', async () => {
    const body = { query: 'heron', include_highlights: true, include_chunks: true }
    for (const [fields, shown] of [
      [['title'], [true, false]],
      [['body'], [false, true]],
      [
        ['title', 'body'],
        [true, true],
      ],
      [['facts'], [false, false]],
    ] as const) {
      const [hit] = await present(body, [found(1, [4])], [chunk(1), chunk(4)], {
        entries: [{ ...entry, fields: [...fields] }],
      })
      assert.deepEqual(['title' in hit!, 'body' in hit!], shown)
      const text = JSON.stringify(hit)
      assert.equal(text.includes('stands'), shown[1])
      assert.equal(text.includes('A <em>heron'), shown[0])
      assert.equal(hit!.matched_chunks!.length, 2)
      assert.ok(hit!.matched_chunks!.every((one) => 'body' in one === shown[1]))
    }
  })

  test('show URL, author, topics and tags only if an entry that matches the current document opens them', async () => {
    const shown = async (fields: ScopeEntry['fields'], more: Partial<DocumentDetails> = {}) => {
      const scope = { entries: [{ ...entry, languages: ['en'], fields: [...fields] }] }
      const [hit] = await present({ query: 'heron' }, [found(1)], [chunk(1)], scope, (number) => details(number, more))
      const { url, external_id, author, topics, tags } = hit!
      assert.deepEqual([url, external_id], [more.language === 'fr' ? undefined : 'https://example.com/1', '1'])
      return [author, topics, tags]
    }
    const author = { external_author_id: 'u1', nickname: 'Heron' }
    assert.deepEqual(await shown(['title']), [undefined, undefined, undefined])
    assert.deepEqual(await shown(['title', 'author']), [author, undefined, undefined])
    assert.deepEqual(await shown(['title', 'metadata']), [author, ['birds'], ['reed']])
    assert.deepEqual(await shown(['title', 'metadata'], { author: null, topics: [] }), [null, [], ['reed']])
    // The hit is an earlier version: the current document is in a language that may not be read.
    assert.deepEqual(await shown(['title', 'metadata'], { language: 'fr' }), [undefined, undefined, undefined])
  })

  test('have the same summary with and without highlights', async () => {
    const text = `${'Reeds sway. '.repeat(80)}The heron waits. ${'Reeds sway. '.repeat(80)}`
    const [plain] = await present({ query: 'heron' }, [found(1)], [chunk(1, { text })])
    const [marked] = await present({ query: 'heron', include_highlights: true }, [found(1)], [chunk(1, { text })])
    assert.equal(marked!.body, plain!.body)
    assert.ok(plain!.body!.includes('heron') && plain!.body!.length <= 500)
    assert.ok(marked!.highlights!.some((one) => one.includes('The <em>heron</em> waits')))
  })
})
