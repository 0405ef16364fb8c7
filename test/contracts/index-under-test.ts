import assert from 'node:assert/strict'
import { fieldPermissions, type Scope, type ScopeEntry } from '../../src/access/scope.ts'
import type { IndexChange, PutVersion, SearchIndex } from '../../src/indexing/fed-index.ts'
import {
  type DocumentHit,
  type IndexedColumns,
  type KeywordRequest,
  noFilters,
  type SearchFilters,
} from '../../src/search/search-index.ts'
import type { AnalysedField, Clause, ClauseKind, KeywordQuery } from '../../src/text/types.ts'
import { plainColumns } from '../support/plain-columns.ts'

export const timeoutMs = 30_000

/** Plain words as a field; each word has its own position. */
export function fieldOf(text: string): AnalysedField {
  const terms = text.split(' ').filter((word) => word !== '')
  return { terms, positions: terms.map((_, i) => i), length: terms.length }
}

/** `any`, `+must`, `-not`, `"a_phrase"`, `one|other` alternatives. */
export function queryOf(text: string): KeywordQuery {
  const clauses = text.split(' ').map((part): Clause => {
    const kind: ClauseKind = part.startsWith('+') ? 'must' : part.startsWith('-') ? 'mustNot' : 'any'
    const bare = part.replace(/^[+-]/, '')
    if (!bare.startsWith('"')) return { type: 'word', kind, weight: 1, group: bare.split('|') }
    const groups = bare.slice(1, -1).split('_')
    return { type: 'phrase', kind, weight: 1, groups: groups.map((group) => group.split('|')) }
  })
  return { clauses, boosts: [] }
}

export const columns: IndexedColumns = {
  ...plainColumns,
  datasetId: 'news',
  platform: 'web',
  language: 'en',
  region: 'eu',
  contentType: 'post',
  publishedAt: 1000,
}

export const entry: ScopeEntry = {
  datasets: ['news', 'blogs'],
  platforms: null,
  languages: null,
  regions: null,
  publishedFrom: null,
  publishedTo: null,
  fields: fieldPermissions,
}
export const everything: Scope = { entries: [entry] }

/** The number of documents found, by dataset. */
export const listing = { scope: everything, field: 'dataset', prefix: '', after: null, limit: 100, timeoutMs } as const

interface PutOptions {
  readonly title?: string
  readonly version?: string
  readonly columns?: Partial<IndexedColumns>
  readonly current?: boolean
  readonly vectors?: readonly number[][]
}

/** Chunks are named after the version: `d1 v1 0`. */
export function put(documentId: string, bodies: readonly string[], options: PutOptions = {}): PutVersion {
  const versionId = options.version ?? `${documentId} v1`
  return {
    kind: 'put_version',
    documentId,
    versionId,
    columns: { ...columns, ...options.columns },
    current: options.current ?? true,
    title: fieldOf(options.title ?? ''),
    chunks: bodies.map((body, i) => ({
      chunkId: `${versionId} ${i}`,
      body: fieldOf(body),
      vectors: options.vectors?.[i] ? [{ profileId: 'p', vector: options.vectors[i] }] : [],
    })),
  }
}

export const ids = (hits: readonly DocumentHit[]): string[] => hits.map((hit) => hit.documentId)

/** The index under test, with the few calls that every example uses. */
export class IndexUnderTest {
  readonly index: SearchIndex
  #position = 0

  constructor(index: SearchIndex) {
    this.index = index
  }

  async apply(...changes: IndexChange[]): Promise<void> {
    assert.deepEqual(await this.index.apply({ position: ++this.#position, changes }), { outcome: 'applied' })
  }

  /** Starts an example with only these changes. */
  async start(...changes: IndexChange[]): Promise<void> {
    await this.index.clear()
    this.#position = 0
    await this.apply(...changes)
  }

  request(text: string): KeywordRequest {
    return {
      query: queryOf(text),
      scope: everything,
      filters: noFilters,
      limit: 100,
      after: null,
      otherChunksMax: 10,
      timeoutMs,
    }
  }

  async find(text: string, request: Partial<KeywordRequest> = {}) {
    const page = await this.index.keyword({ ...this.request(text), ...request })
    assert.ok(page.outcome === 'found', JSON.stringify(page))
    return page
  }

  async found(text: string, request: Partial<KeywordRequest> = {}): Promise<string[]> {
    return ids((await this.find(text, request)).hits)
  }

  /** Searches by a vector of profile `p`. */
  async near(vector: number[], scope: Scope = everything, filters: SearchFilters = noFilters, topK = 10) {
    const page = await this.index.vector({ profileId: 'p', vector, scope, filters, topK, timeoutMs })
    assert.ok(page.outcome === 'found', JSON.stringify(page))
    return page.hits
  }
}
