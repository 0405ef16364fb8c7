import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { fieldPermissions, readableFields, type Scope, type ScopedDocument, type ScopeEntry } from '../access/scope.ts'
import { accessTo, faultOf, type InputScope, needsOfVectors, stillOpen } from './input-scope.ts'

const some = (values: readonly string[]) => fc.subarray([...values], { minLength: 1 })
const bound = fc.option(fc.integer({ min: 0, max: 4 }))
const entry: fc.Arbitrary<ScopeEntry> = fc.record({
  datasets: some(['a', 'b', 'c']),
  platforms: fc.option(some(['p', 'q'])),
  languages: fc.option(some(['en', 'de'])),
  regions: fc.option(some(['gb', 'us'])),
  publishedFrom: bound,
  publishedTo: bound,
  fields: fc.subarray([...fieldPermissions], { minLength: 1 }),
})
const document: fc.Arbitrary<ScopedDocument> = fc.record({
  datasetId: fc.constantFrom('a', 'b', 'c'),
  platform: fc.constantFrom('p', 'q'),
  language: fc.option(fc.constantFrom('en', 'de')),
  region: fc.option(fc.constantFrom('gb', 'us')),
  publishedAt: fc.option(fc.integer({ min: 0, max: 4 })),
})
const scopeOf = (input: InputScope, entries: readonly ScopeEntry[]): Scope | null => {
  const access = accessTo(input, entries, needsOfVectors)
  return access.allowed ? access.scope : null
}
const opens = (scope: Scope, one: ScopedDocument): boolean => readableFields(scope, one) !== null

suite('the scope of an input', () => {
  test('windows must not be empty', () => {
    const scope = { dataset_ids: ['a'], created_from: '2026-01-01T00:00:00Z' }
    assert.equal(faultOf({ ...scope, created_to: '2026-01-01T00:00:00.001Z' }), null)
    assert.equal(faultOf({ ...scope, created_to: '2026-01-01T00:00:00Z' })?.path, 'input_scope.created_to')
    assert.equal(faultOf({ dataset_ids: ['a'], published_to: '2026-01-01T00:00:00Z' }), null)
  })

  test('a refusal names the field of the request', () => {
    const entries: ScopeEntry[] = [
      {
        datasets: ['a'],
        platforms: null,
        languages: ['en'],
        regions: null,
        publishedFrom: null,
        publishedTo: null,
        fields: ['body'],
      },
    ]
    const access = accessTo({ dataset_ids: ['a'], languages: ['en', 'de'] }, entries, needsOfVectors)
    assert.deepEqual([access.allowed, !access.allowed && access.path], [false, 'input_scope.languages'])
  })

  test('a document is open if and only if the earlier and the current entries open it, the current ones with the body', () => {
    fc.assert(
      fc.property(
        fc.record({
          input: fc.record(
            {
              dataset_ids: some(['a', 'b', 'c']),
              source_platforms: some(['p', 'q']),
              languages: some(['en', 'de']),
              regions: some(['gb', 'us']),
            },
            { requiredKeys: ['dataset_ids'] },
          ),
          before: fc.array(entry, { minLength: 1, maxLength: 3 }),
          after: fc.array(entry, { maxLength: 3 }),
          documents: fc.array(document, { minLength: 5, maxLength: 20 }),
        }),
        ({ input, before, after, documents }) => {
          const earlier = scopeOf(input as InputScope, before)
          if (earlier === null) return
          const today = stillOpen(earlier, after, needsOfVectors)
          const withBody = after.filter((one) => one.fields.includes('body'))
          for (const one of documents) {
            const expected: boolean = opens(earlier, one) && opens({ entries: withBody }, one)
            assert.equal(today !== null && opens(earlier, one) && opens(today, one), expected)
          }
        },
      ),
    )
  })
})
