import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Scope, ScopeEntry } from '../../src/access/scope.ts'
import type { IndexChange } from '../../src/indexing/fed-index.ts'
import { noFilters, type SearchFilters, type VersionColumns } from '../../src/search/search-index.ts'
import { columns, entry, type IndexUnderTest, ids, listing, put, timeoutMs } from './index-under-test.ts'

const retired = ({ documentId }: IndexChange): IndexChange => ({ kind: 'retire_document', documentId })

/** The documents that scope and filters let through. */
export function scopeExamples(it: () => IndexUnderTest): void {
  test('scope: entries are a union, and each must match as a whole', async () => {
    await it().start(
      put('d1', ['word'], { columns: { datasetId: 'news', language: 'en' } }),
      put('d2', ['word'], { columns: { datasetId: 'news', language: 'fr' } }),
      put('d3', ['word'], { columns: { datasetId: 'blogs', language: 'fr' } }),
      put('d4', ['word'], { columns: { datasetId: 'blogs', language: null } }),
      put('d5', ['word'], { columns: { datasetId: 'other' } }),
    )
    const entries = [
      { ...entry, datasets: ['news'], languages: ['en'] },
      { ...entry, datasets: ['blogs'], languages: ['fr', 'en'] },
    ]
    assert.deepEqual(await it().found('word', { scope: { entries } }), ['d1', 'd3'])
    assert.deepEqual(await it().found('word', { scope: { entries: [] } }), [])
    assert.equal((await it().find('word', { scope: { entries } })).totalChunks, 2)
    const values = ['blogs', 'news'].map((value) => ({ value, count: 1 }))
    assert.deepEqual(await it().index.values({ ...listing, scope: { entries } }), {
      outcome: 'found',
      values,
      next: null,
    })
  })

  test('scope: publication time is half-open, and a restriction never matches a missing value', async () => {
    await it().start(
      put('d1', ['word'], { columns: { publishedAt: 10 } }),
      put('d2', ['word'], { columns: { publishedAt: 20 } }),
      put('d3', ['word'], { columns: { publishedAt: null, region: null } }),
    )
    const within = (publishedFrom: number | null, publishedTo: number | null) =>
      it().found('word', { scope: { entries: [{ ...entry, publishedFrom, publishedTo }] } })
    assert.deepEqual(await within(10, 20), ['d1'])
    assert.deepEqual(await within(10, null), ['d1', 'd2'])
    assert.deepEqual(await within(null, 20), ['d1'])
    assert.deepEqual(await it().found('word', { scope: { entries: [{ ...entry, regions: ['eu'] }] } }), ['d1', 'd2'])
    const mixed = [
      { ...entry, publishedFrom: 15 },
      { ...entry, regions: ['eu'], publishedTo: 15 },
    ]
    assert.deepEqual(await it().found('word', { scope: { entries: mixed } }), ['d1', 'd2'])
  })

  test('scope: a field that may not be read is not searched, not even by exclusion', async () => {
    await it().start(
      put('d1', ['inside'], { title: 'outside', vectors: [[1, 0]] }),
      put('d2', ['outside'], { title: 'inside', vectors: [[0, 1]] }),
    )
    const only = (...fields: ScopeEntry['fields']) => ({ scope: { entries: [{ ...entry, fields }] } })
    assert.deepEqual(await it().found('inside', only('body')), ['d1'])
    assert.deepEqual(await it().found('inside', only('title')), ['d2'])
    assert.deepEqual(await it().found('inside', only('author', 'metrics')), [])
    assert.deepEqual(await it().found('+inside +outside', only('body')), [])
    assert.deepEqual(await it().found('inside -outside', only('body')), ['d1'])
    assert.deepEqual(await it().found('inside -outside', only('title', 'body')), [])
    assert.deepEqual(ids(await it().near([1, 0], only('body').scope)), ['d1', 'd2'])
    assert.deepEqual(await it().near([1, 0], only('title').scope), [])
    const split: Scope = {
      entries: [
        { ...entry, fields: ['title'] },
        { ...entry, fields: ['body'], datasets: ['blogs'] },
      ],
    }
    await it().apply({ kind: 'set_columns', documentId: 'd1', columns: { ...columns, datasetId: 'blogs' } })
    assert.deepEqual((await it().found('inside', { scope: split })).sort(), ['d1', 'd2'])
    assert.deepEqual(ids(await it().near([1, 0], split)), ['d1'])
  })

  test('scope and filters use the language of the version, and all other columns of the document', async () => {
    await it().start(
      put('d1', ['word old'], { version: 'v1', columns: { language: 'fr', region: 'eu' }, vectors: [[1, 0]] }),
      put('d1', ['word new'], { version: 'v2', columns: { language: 'de', region: 'us' }, vectors: [[0, 1]] }),
    )
    const all = { ...noFilters, includeNonCurrent: true }
    const seen = async (limits: Partial<ScopeEntry>, filters: SearchFilters = all) => {
      const scope = { entries: [{ ...entry, ...limits }] }
      const { hits, totalChunks } = await it().find('word', { scope, filters })
      const near = await it().near([1, 1], scope, filters)
      const versions = hits.flatMap((hit) => [hit, ...hit.otherChunks]).map(({ versionId }) => versionId)
      assert.deepEqual(
        near.flatMap((hit) => [hit, ...hit.otherChunks].map(({ versionId }) => versionId)).sort(),
        versions.sort(),
      )
      assert.equal(totalChunks, versions.length)
      return versions
    }
    assert.deepEqual(await seen({ languages: ['de'] }), ['v2'])
    assert.deepEqual(await seen({ languages: ['fr'] }), ['v1'])
    assert.deepEqual(await seen({ languages: ['fr'] }, noFilters), [])
    assert.deepEqual(await seen({}, { ...all, languages: ['fr'] }), ['v1'])
    assert.deepEqual(await seen({ regions: ['us'] }), ['v1', 'v2'])
    assert.deepEqual(await seen({ regions: ['eu'] }), [])
    await it().apply({ kind: 'set_columns', documentId: 'd1', columns: { ...columns, region: 'eu' } })
    assert.deepEqual(await seen({ regions: ['eu'] }), ['v1', 'v2'])
    assert.deepEqual(await seen({ regions: ['eu'], languages: ['fr'] }), ['v1'])
    assert.deepEqual(await seen({ regions: ['eu'], languages: ['en'] }), [])
  })

  test('scope: hidden content does not affect scores, order and totals', async () => {
    const long = 'sea land wind sand '.repeat(20)
    const visible = [
      put('d1', ['sea land', 'wind sea'], { title: 'shore' }),
      put('d2', ['sea'], { title: 'sea shore' }),
      put('d3', ['wind land land'], { title: '' }),
    ]
    const others = (columns: Partial<VersionColumns>) =>
      Array.from({ length: 12 }, (_, i) => put(`hidden${i}`, [long, 'sea'], { title: 'sea', columns }))
    const only = (narrower: Partial<ScopeEntry>): Scope => ({ entries: [{ ...entry, ...narrower }] })
    const bodies = (texts: readonly string[]) => [
      put('d1', texts, { title: 'sea shore' }),
      put('d2', texts.slice(0, 2), { title: 'shore' }),
      put('d3', [''], { title: 'sea and sand' }),
    ]
    const titles = (text: string) =>
      ['d1', 'd2'].map((id, i) => put(id, ['sea land', 'sea'.repeat(i)], { title: text }))
    const cases: Record<string, [scope: Scope, before: readonly IndexChange[], after: readonly IndexChange[]]> = {
      'another dataset': [only({}), visible, others({ datasetId: 'secret' })],
      'another language': [only({ languages: ['en'] }), visible, others({ language: 'fr' })],
      'another platform': [only({ platforms: ['web'] }), visible, others({ platform: 'app' })],
      'another region': [only({ regions: ['eu'] }), visible, others({ region: null })],
      'another time': [only({ publishedTo: 1001 }), visible, others({ publishedAt: 1001 })],
      'an older version': [
        only({}),
        visible,
        visible.map(({ documentId }) => put(documentId, [long], { version: 'v0', title: 'sea', current: false })),
      ],
      'the body': [only({ fields: ['title'] }), bodies(['sea']), bodies([long, 'sea', 'sea shore'])],
      'the title': [only({ fields: ['body'] }), titles(''), titles('sea sea land')],
      'removed documents': [only({}), visible, [...others({}), ...others({}).map(retired)]],
      'everything removed and put again': [only({}), visible, [...visible.map(retired), ...visible]],
    }
    for (const [hidden, [scope, before, after]] of Object.entries(cases)) {
      await it().start(...before)
      const ask = async (text: string) => {
        const request = { ...it().request(text), scope }
        const { query } = request
        const documentIds = ['d1', 'd2', 'd3', 'hidden0']
        return [
          await it().index.keyword(request),
          await it().index.keyword({ ...request, limit: 1 }),
          await it().index.score({ documentIds, query, vectors: [], scope, filters: noFilters, timeoutMs }),
          await it().index.values({ ...listing, scope }),
        ]
      }
      const texts = ['sea', 'sea shore', '+sea +land', '"sea_land"', 'sea|wind -sand']
      const wanted = await Promise.all(texts.map(ask))
      for (const change of after) await it().apply(change)
      assert.deepEqual(await Promise.all(texts.map(ask)), wanted, hidden)
      assert.ok((await it().found('sea', { scope })).length > 1, hidden)
    }
  })

  test('scope: if the body may not be searched, a title counts as one chunk, the first', async () => {
    const version = put('d1', ['sea', 'sea land', 'sand'], { title: 'shore' })
    await it().start({ ...version, chunks: version.chunks.toReversed() })
    const only = (...fields: ScopeEntry['fields']) => ({ scope: { entries: [{ ...entry, fields }] } })
    const found = await it().find('shore', only('title'))
    assert.deepEqual(
      [found.totalChunks, found.hits.map(({ chunkId, otherChunks }) => [chunkId, otherChunks])],
      [1, [['d1 v1 2', []]]],
    )
    // After a change of columns it is still the first chunk.
    await it().apply({ kind: 'set_columns', documentId: 'd1', columns: { ...columns, region: null } })
    assert.deepEqual(await it().find('shore', only('title')), found)
    assert.equal((await it().find('shore', only('title', 'body'))).totalChunks, 3)
  })

  test('each filter narrows by its own column', async () => {
    await it().start(
      put('d1', ['word'], { columns: { datasetId: 'news', platform: 'web', language: 'en', contentType: 'post' } }),
      put('d2', ['word'], { columns: { datasetId: 'blogs', platform: 'app', language: 'fr', contentType: 'video' } }),
      put('d3', ['word'], {
        columns: { region: 'us', language: null, contentType: null, publishedAt: 5, status: 'unavailable' },
      }),
    )
    const filtered = (filters: Partial<SearchFilters>) => it().found('word', { filters: { ...noFilters, ...filters } })
    assert.deepEqual(await filtered({ datasets: ['blogs'] }), ['d2'])
    assert.deepEqual(await filtered({ platforms: ['web'] }), ['d1', 'd3'])
    assert.deepEqual(await filtered({ languages: ['en', 'fr'] }), ['d1', 'd2'])
    assert.deepEqual(await filtered({ regions: ['us'] }), ['d3'])
    assert.deepEqual(await filtered({ contentTypes: ['video'] }), ['d2'])
    assert.deepEqual(await filtered({ statuses: ['unavailable'] }), ['d3'])
    assert.deepEqual(await filtered({ statuses: ['active'], languages: ['fr'] }), ['d2'])
    assert.deepEqual(await filtered({ publishedTo: 1000 }), ['d3'])
    assert.deepEqual(await filtered({ publishedFrom: 1000, languages: ['fr'] }), ['d2'])
    assert.deepEqual(await filtered({ datasets: [] }), [])
  })
}
