import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as random from '../../../../test/contracts/random-changes.ts'
import { noCatalog, plainColumns } from '../../../../test/support/plain-columns.ts'
import { readableFields, type Scope } from '../../../access/scope.ts'
import { noFilters, type VersionColumns } from '../../../search/search-index.ts'
import { FilterClasses } from '../format/filter-classes.ts'
import { SegmentBuilder, TermScratch } from '../format/segment-builder.ts'
import { openSegmentData, type SegmentData } from '../format/segment-data.ts'
import { bodyMask, CompiledFilter, FilterCache, titleMask } from './compile-filter.ts'

const none = new Uint8Array()
const noTokens = new Uint32Array()

/** A segment of documents with one chunk each and these columns. */
function segmentOf(documents: readonly VersionColumns[], classes: FilterClasses): SegmentData {
  const builder = new SegmentBuilder(new TermScratch())
  documents.forEach((columns, key) => {
    builder.addDocument(none, columns.publishedAt ?? Number.NaN, noCatalog)
    const version = builder.addVersion(none, noTokens, 0)
    const classNumber = classes.add(columns, true)
    builder.addChunk({ id: none, version, first: true, classNumber, key, vectorKey: key, length: 0, body: noTokens })
  })
  return openSegmentData(builder.finish())
}

function expectedMask(scope: Scope, columns: VersionColumns): number {
  const fields = readableFields(scope, columns)
  return (fields?.has('title') ? titleMask : 0) | (fields?.has('body') ? bodyMask : 0)
}

test('a compiled scope opens the same fields of every document as the scope', () => {
  const manyEntries = fc.array(random.scope, { maxLength: 30 }).map((scopes) => ({
    entries: scopes.flatMap(({ entries }) => entries),
  }))
  fc.assert(
    fc.property(
      fc.oneof(random.scope, manyEntries),
      fc.array(random.columns, { maxLength: 30 }),
      (scope, documents) => {
        const classes = new FilterClasses()
        const data = segmentOf(documents, classes)
        const filter = new CompiledFilter(scope, noFilters, classes.list)
        documents.forEach((columns, chunk) => {
          assert.equal(filter.maskOf(data, chunk), expectedMask(scope, columns))
        })
      },
    ),
    { numRuns: 200 },
  )
})

test('more time windows than there are rules are still distinguished', () => {
  const documents = Array.from({ length: 200 }, (_, i) => ({ ...plainColumns, datasetId: `d${i}`, publishedAt: i % 7 }))
  const entry = { platforms: null, languages: null, regions: null, fields: ['body' as const] }
  const entries = documents.map(({ datasetId }, i) => ({
    ...entry,
    datasets: [datasetId],
    publishedFrom: (i % 5) - i / 1000,
    publishedTo: 5 + i / 1000,
  }))
  const classes = new FilterClasses()
  const data = segmentOf(documents, classes)
  const filter = new CompiledFilter({ entries }, noFilters, classes.list)
  documents.forEach((columns, chunk) => {
    assert.equal(filter.maskOf(data, chunk), expectedMask({ entries }, columns))
  })
})

test('a cached filter is extended with new classes', () => {
  const classes = new FilterClasses()
  const cache = new FilterCache(classes.list)
  const before = cache.filterFor(random.wholeScope, noFilters)
  const data = segmentOf(
    [
      { ...plainColumns, datasetId: 'd1' },
      { ...plainColumns, datasetId: 'elsewhere' },
    ],
    classes,
  )
  const filter = cache.filterFor(random.wholeScope, noFilters)
  assert.equal(filter, before)
  assert.deepEqual([filter.maskOf(data, 0), filter.maskOf(data, 1)], [titleMask | bodyMask, 0])
})
