import fc from 'fast-check'
import { fieldPermissions, type Scope } from '../../src/access/scope.ts'
import type { Conditions } from '../../src/document/field-types.ts'
import { documentStatuses } from '../../src/document/fields.ts'
import { facetNames, filterRows } from '../../src/document/rows.ts'
import type { IndexChange } from '../../src/indexing/fed-index.ts'
import { timeBuckets } from '../../src/platform/time-buckets.ts'
import {
  type FacetsRequest,
  type IndexedColumns,
  keywordOrders,
  type SearchFilters,
} from '../../src/search/search-index.ts'
import type { AnalysedField, Clause, KeywordQuery, TermExpansion } from '../../src/text/types.ts'
import { type DocumentField, documentFields } from '../support/document-fields.ts'

/** Random content with few words, few documents and few values, so that every combination occurs. */
export const words = ['a', 'b', 'c', 'd', 'e', 'f', 'ü', '漢']
const datasets = ['d1', 'd2', 'd3']
const platforms = ['p1', 'p2']
const languages = ['en', 'fr']
const regions = ['eu', 'us']
const contentTypes = ['post', 'video']
const statuses = [...documentStatuses]
export const profiles = [
  { profileId: 'small', dimensions: 3 },
  { profileId: 'large', dimensions: 130 },
] as const

const word = fc.constantFrom(...words)
const time = fc.integer({ min: 0, max: 9 })

/** Mostly one term for each position; sometimes two share one, sometimes a position stays empty. */
export const field: fc.Arbitrary<AnalysedField> = fc
  .array(fc.tuple(word, fc.constantFrom(1, 1, 1, 1, 0, 2, 9)), { maxLength: 12 })
  .map((tokens) => {
    let position = -1
    const positions = tokens.map(([, step], i) => {
      position += i === 0 ? Math.max(1, step) : step
      return position
    })
    return { terms: tokens.map(([term]) => term), positions, length: position + 1 }
  })

const repeated: fc.Arbitrary<AnalysedField> = fc.tuple(word, fc.integer({ min: 60, max: 80 })).map(([term, times]) => ({
  terms: Array.from({ length: times }, () => term),
  positions: Array.from({ length: times }, (_, i) => i),
  // Some lengths are beyond what an index may expect.
  length: times % 4 === 0 ? 70_000 : times,
}))

export const body = fc.oneof({ weight: 9, arbitrary: field }, { weight: 1, arbitrary: repeated })

const orNull = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: null })

const topics = ['x', 'y', 'ÿ', 'a']
const values = fc.subarray(topics)
const score = fc.integer({ min: -2, max: 2 })

const catalogFields = documentFields.filter(({ indexed }) => indexed === 'catalog')
const valuesOf = ({ kind }: DocumentField) =>
  kind === 'texts' ? values : kind === 'integer' ? fc.option(score, { nil: null }) : orNull(topics)

export const columns = fc.record({
  ...Object.fromEntries(catalogFields.map((field) => [field.property, valuesOf(field)])),
  datasetId: fc.constantFrom(...datasets),
  platform: fc.constantFrom(...platforms),
  language: orNull(languages),
  region: orNull(regions),
  contentType: orNull(contentTypes),
  status: fc.constantFrom(...statuses),
  publishedAt: fc.option(time, { nil: null }),
  externalAuthorId: orNull(topics),
}) as fc.Arbitrary<IndexedColumns>

const component = fc.integer({ min: -4, max: 4 }).map((value) => value / 3)
export const vector = (dimensions: number) => fc.array(component, { minLength: dimensions, maxLength: dimensions })
export const anyVector = fc
  .constantFrom(...profiles)
  .chain(({ profileId, dimensions }) => vector(dimensions).map((values) => ({ profileId, vector: values })))

const documentId = fc.integer({ min: 0, max: 9 }).map((i) => `doc${i}`)
const versionOf = (document: string) => fc.integer({ min: 0, max: 2 }).map((i) => `${document}v${i}`)
const chunkOf = (version: string) => fc.integer({ min: 0, max: 2 }).map((i) => `${version}c${i}`)

export const change: fc.Arbitrary<IndexChange> = documentId.chain((document) => {
  const version = versionOf(document)
  const put = version.chain((versionId) =>
    fc.record({
      kind: fc.constant('put_version' as const),
      documentId: fc.constant(document),
      versionId: fc.constant(versionId),
      columns,
      current: fc.boolean(),
      title: field,
      chunks: fc
        .tuple(
          fc.integer({ min: 0, max: 2 }),
          fc.array(
            fc.record({
              body,
              vectors: fc.array(anyVector, { maxLength: 2 }),
            }),
            { maxLength: 3 },
          ),
        )
        // The first chunk in the text is not always the first by id.
        .map(([first, chunks]) => chunks.map((chunk, i) => ({ chunkId: `${versionId}c${(first + i) % 3}`, ...chunk }))),
    }),
  )
  return fc.oneof(
    { weight: 8, arbitrary: put as fc.Arbitrary<IndexChange> },
    {
      weight: 1,
      arbitrary: version.map((versionId) => ({ kind: 'retire_version' as const, documentId: document, versionId })),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'retire_document' as const, documentId: document }) },
    {
      weight: 1,
      arbitrary: columns.map((values) => ({ kind: 'set_columns' as const, documentId: document, columns: values })),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(version.chain(chunkOf), anyVector)
        .map(([chunkId, values]) => ({ kind: 'set_vector' as const, documentId: document, chunkId, ...values })),
    },
  )
})

const someOf = (values: readonly string[]) => fc.option(fc.subarray([...values]), { nil: null, freq: 3 })

export const scope: fc.Arbitrary<Scope> = fc.record({
  entries: fc.array(
    fc.record({
      datasets: fc.subarray(datasets, { minLength: 1 }),
      platforms: someOf(platforms),
      languages: someOf(languages),
      regions: someOf(regions),
      publishedFrom: fc.option(time, { nil: null, freq: 3 }),
      publishedTo: fc.option(time, { nil: null, freq: 3 }),
      fields: fc.subarray([...fieldPermissions], { minLength: 1 }),
    }),
    { maxLength: 3 },
  ),
})

export const wholeScope: Scope = {
  entries: [
    {
      datasets,
      platforms: null,
      languages: null,
      regions: null,
      publishedFrom: null,
      publishedTo: null,
      fields: fieldPermissions,
    },
  ],
}

const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })

export const filters: fc.Arbitrary<SearchFilters> = fc.record({
  datasets: seldom(fc.subarray(datasets)),
  platforms: seldom(fc.subarray(platforms)),
  languages: seldom(fc.subarray(languages)),
  regions: seldom(fc.subarray(regions)),
  contentTypes: seldom(fc.subarray(contentTypes)),
  statuses: seldom(fc.subarray(statuses)),
  publishedFrom: seldom(time),
  publishedTo: seldom(time),
  includeNonCurrent: fc.boolean(),
})

/** Includes a value that no document has. */
const wanted = seldom(fc.subarray([...topics, 'nobody']))

const range = fc.record({ min: fc.option(score, { nil: null }), max: fc.option(score, { nil: null }) })

/** A condition on each filter of the table, most of them absent. */
export const conditions: fc.Arbitrary<Conditions> = fc
  .record(
    Object.fromEntries(filterRows.map(({ property, kind }) => [property, kind === 'integer' ? seldom(range) : wanted])),
  )
  .map((drawn) => Object.fromEntries(Object.entries(drawn).filter(([, condition]) => condition !== null)))
export const order = fc.constantFrom(...keywordOrders)
export const facets: fc.Arbitrary<FacetsRequest> = fc.record({
  of: fc.subarray([...facetNames, ...timeBuckets.map((bucket) => ({ published_at: bucket }))]),
  limit: fc.constantFrom(1, 2, 100),
})

const group = fc.array(fc.oneof({ weight: 9, arbitrary: word }, { weight: 1, arbitrary: fc.string() }), {
  maxLength: 3,
})
const weight = fc.constantFrom(1, 1, 2, 0.5)
const kind = fc.constantFrom('any' as const, 'any' as const, 'must' as const, 'mustNot' as const)

const factor = fc.constantFrom(0.5, 0.1)
const expansions: fc.Arbitrary<TermExpansion[]> = fc.array(
  fc.oneof(
    fc.record({ terms: group, factor }),
    fc.record({ prefix: fc.oneof({ weight: 9, arbitrary: word }, { weight: 1, arbitrary: fc.string() }), factor }),
  ),
  { maxLength: 2 },
)

const clause: fc.Arbitrary<Clause> = fc.oneof(
  fc.record({ type: fc.constant('word' as const), kind, weight, group }),
  fc.record({ type: fc.constant('word' as const), kind, weight, group, expansions }),
  fc.record({ type: fc.constant('phrase' as const), kind, weight, groups: fc.array(group, { maxLength: 3 }) }),
)

export const query: fc.Arbitrary<KeywordQuery> = fc.record({
  clauses: fc.array(clause, { maxLength: 4 }),
  boosts: fc.array(clause, { maxLength: 2 }),
})
