import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { fieldPermissions, type Scope, type ScopeEntry } from '../access/scope.ts'
import { parseQuery } from '../text/parse-query.ts'
import type { IndexSource, ShownChunk } from './index-source.ts'
import { presentResults } from './present-results.ts'
import { checkSearch, type SearchBody } from './search-request.ts'
import type { FoundDocument } from './searcher.ts'

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
  ...fields,
})
const found = (number: number, others: readonly number[] = [], shown: ShownChunk | null = null): FoundDocument => ({
  documentId: `doc_${number}`,
  best: { chunkId: `chk_${number}`, versionId: `ver_${number}`, score: 2 },
  others: others.map((one) => ({ chunkId: `chk_${one}`, versionId: `ver_${number}`, score: 1 })),
  shown,
  score: 2,
  keywordScore: 2,
  vectorScore: null,
  rerankScore: null,
})

let calls = 0
async function present(
  body: SearchBody,
  hits: readonly FoundDocument[],
  chunks: readonly ShownChunk[],
  scope: Scope = { entries: [entry] },
) {
  const request = checkSearch(body, null, 3)
  const result = {
    found: hits,
    query: parseQuery(request.text, null),
    totalChunks: 1,
    topK: 20,
    next: null,
    vectorsPending: false,
    shortfalls: [],
  }
  calls = 0
  const source = {
    shownChunks: async (ids: readonly string[]) => {
      calls++
      return chunks.filter(({ chunkId }) => ids.includes(chunkId))
    },
  } as unknown as IndexSource
  return presentResults(result, request, scope, source)
}

suite('results in the words of the API', () => {
  test('one call to the store for a page, none for what was read already or an empty one', async () => {
    assert.equal((await present({ query: 'heron' }, [found(1), found(2)], [chunk(1), chunk(2)])).length, 2)
    assert.equal(calls, 1)
    const [read] = await present({ query: 'heron' }, [found(1, [], chunk(1))], [])
    assert.equal(read!.title, 'A heron')
    assert.equal(calls, 0)
    assert.deepEqual(await present({ query: 'heron' }, [], []), [])
    assert.equal(calls, 0)
  })

  test('what was there when it was found and is not any more is left out', async () => {
    const moved = chunk(2, { document: { ...chunk(2).document, datasetId: 'elsewhere' } })
    const results = await present({ query: 'heron' }, [found(1), found(2), found(3)], [chunk(1), moved])
    assert.deepEqual(
      results.map(({ document_id }) => document_id),
      ['doc_1'],
    )
  })

  test('texts only as far as the entries that match the document open them', async () => {
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

  test('with highlights the summary is the same as without', async () => {
    const text = `${'Reeds sway. '.repeat(80)}The heron waits. ${'Reeds sway. '.repeat(80)}`
    const [plain] = await present({ query: 'heron' }, [found(1)], [chunk(1, { text })])
    const [marked] = await present({ query: 'heron', include_highlights: true }, [found(1)], [chunk(1, { text })])
    assert.equal(marked!.body, plain!.body)
    assert.ok(plain!.body!.includes('heron') && plain!.body!.length <= 500)
    assert.ok(marked!.highlights!.some((one) => one.includes('The <em>heron</em> waits')))
  })
})
