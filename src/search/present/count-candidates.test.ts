import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { plainColumns } from '../../../test/support/plain-columns.ts'
import type { Scope } from '../../access/scope.ts'
import type { CountedDocument, SearchSource, VersionHead } from '../search-source.ts'
import { countCandidates } from './count-candidates.ts'

const scope: Scope = {
  entries: [
    {
      datasets: ['d'],
      platforms: null,
      languages: ['en'],
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: ['body', 'metadata', 'facts'],
    },
  ],
}

const document = (name: string, columns: Partial<CountedDocument> = {}): CountedDocument => ({
  ...plainColumns,
  documentId: name,
  currentVersionId: `${name} now`,
  language: 'en',
  ...columns,
})

/** Only the methods that counting uses. */
const sourceOf = (documents: readonly CountedDocument[], heads: readonly VersionHead[] = []) =>
  ({
    indexedColumns: async (ids: readonly string[]) => documents.filter(({ documentId }) => ids.includes(documentId)),
    versionHeads: async (ids: readonly string[]) => heads.filter(({ versionId }) => ids.includes(versionId)),
  }) as Partial<SearchSource> as SearchSource

const found = (...names: string[]) => names.map((name) => ({ documentId: name, versionId: `${name} now` }))

suite('counts of candidates', () => {
  test('count each document once for each value, most frequent values first, ties by their bytes', async () => {
    const source = sourceOf([
      document('a', { topics: ['\u{1F600}', 'x', 'x'], publishedAt: Date.parse('2026-11-16T10:00:00Z') }),
      document('b', { topics: ['x', '\uFF5A'], externalAuthorId: 'ann', contentType: 'post', publishedAt: 1e200 }),
      document('c', { region: 'GB', status: 'unavailable', tags: ['t'], classifications: ['c'] }),
    ])
    const of = ['topics', 'author', 'content_type', 'region', 'status', 'tags', 'classifications', 'dataset'] as const
    const facets = { of: [...of, 'platform', 'language', { published_at: 'week' }], limit: 2 } as const
    const counted = await countCandidates(source, found('a', 'b', 'c'), facets, scope)
    assert.deepEqual(
      counted.map((values) => values.map(({ value, count }) => `${value} ${count}`)),
      [
        ['x 2', '\uFF5A 1'],
        ['ann 1'],
        ['post 1'],
        ['GB 1'],
        ['active 2', 'unavailable 1'],
        ['t 1'],
        ['c 1'],
        ['d 3'],
        ['p 3'],
        ['en 3'],
        ['2026-11-16 1'],
      ],
    )
  })

  test('leave out values for which no matching entry grants the permission', async () => {
    const [entry] = scope.entries as [Scope['entries'][number]]
    const known = { topics: ['t'], tags: ['g'], classifications: ['c'], externalAuthorId: 'ann' }
    const source = sourceOf([document('a', known), document('b', { ...known, platform: 'board' })])
    const of = ['topics', 'tags', 'classifications', 'author', 'dataset'] as const
    for (const [fields, expected] of [
      [['metadata'], ['t 1', 'g 1', 'ann 1', 'd 2']],
      [['author'], ['ann 1', 'd 2']],
      [['facts'], ['c 1', 'd 2']],
      [['metrics'], ['d 2']],
    ] as const) {
      const entries = [
        { ...entry, fields: ['body'] as const },
        { ...entry, platforms: ['board'], fields },
      ]
      const counted = await countCandidates(source, found('a', 'b'), { of, limit: 9 }, { entries })
      assert.deepEqual(
        counted.flatMap((values) => values.map(({ value, count }) => `${value} ${count}`)),
        expected,
      )
    }
  })

  test('use the language of an earlier version, and no other columns of a document that is not readable', async () => {
    const source = sourceOf(
      [
        document('open', { topics: ['seen'] }),
        document('closed', { topics: ['hidden'], language: 'de' }),
        document('gone', { topics: ['gone'] }),
        document('shut', { topics: ['shut'], language: 'de' }),
      ],
      [
        { versionId: 'open before', title: null, language: 'en' },
        { versionId: 'closed before', title: null, language: 'en' },
      ],
    )
    const candidates = [
      ...['open', 'closed', 'gone'].map((name) => ({ documentId: name, versionId: `${name} before` })),
      ...found('shut', 'nowhere'),
    ]
    assert.deepEqual(await countCandidates(source, candidates, { of: ['topics', 'language'], limit: 9 }, scope), [
      [{ value: 'seen', count: 1 }],
      [{ value: 'en', count: 2 }],
    ])
  })
})
