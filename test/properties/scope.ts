import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type AccessRequest, compileScope } from '../../src/access/compile-scope.ts'
import {
  type FieldPermission,
  fieldPermissions,
  readableFields,
  type ScopedDocument,
  type ScopeEntry,
} from '../../src/access/scope.ts'

/**
 * The entitlement rule, stated a second time as plainly as possible: no shared code with the compiler. Small alphabets
 * make every collision (same dataset in two entries, a value named and not allowed, …) frequent.
 */
const dataset = fc.constantFrom('a', 'b', 'c')
const platform = fc.constantFrom('p', 'q', 'r')
const language = fc.constantFrom('en', 'de', 'fr')
const region = fc.constantFrom('GB', 'US')
const time = fc.integer({ min: 0, max: 6 })
const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null, freq: 3 })
const some = <T>(value: fc.Arbitrary<T>) => fc.uniqueArray(value, { minLength: 1, maxLength: 3 })

const entry: fc.Arbitrary<ScopeEntry> = fc.record({
  datasets: some(dataset),
  platforms: orNull(some(platform)),
  languages: orNull(some(language)),
  regions: orNull(some(region)),
  publishedFrom: orNull(time),
  publishedTo: orNull(time),
  fields: fc.uniqueArray(fc.constantFrom(...fieldPermissions), { minLength: 1, maxLength: 6 }),
})
const request: fc.Arbitrary<AccessRequest> = fc.record({
  datasets: orNull(some(dataset)),
  platforms: orNull(some(platform)),
  languages: orNull(some(language)),
  regions: orNull(some(region)),
  fields: fc.array(fc.record({ name: fc.constant('x'), openedBy: some(fc.constantFrom(...fieldPermissions)) }), {
    maxLength: 2,
  }),
  needs: fc.array(some(fc.constantFrom(...fieldPermissions)), { maxLength: 2 }),
})
const document: fc.Arbitrary<ScopedDocument> = fc.record({
  datasetId: dataset,
  platform,
  language: orNull(language),
  region: orNull(region),
  publishedAt: orNull(time),
})

type Verdict = 'refused' | 'invisible' | ReadonlySet<FieldPermission>

/** The verdict of the access rules on one document, computed entry by entry. */
function oracle(entries: readonly ScopeEntry[], asked: AccessRequest, doc: ScopedDocument): Verdict {
  const inList = (list: readonly string[] | null | undefined, value: string | null) =>
    list === null || list === undefined ? true : value !== null && list.indexOf(value) >= 0
  const overlap = (named: readonly string[] | null | undefined, allowed: readonly string[] | null) => {
    if (named === null || named === undefined || allowed === null) return true
    for (const value of named) if (allowed.indexOf(value) >= 0) return true
    return false
  }
  const participants: ScopeEntry[] = []
  for (const one of entries) {
    let takesPart =
      overlap(asked.datasets, one.datasets) &&
      overlap(asked.platforms, one.platforms) &&
      overlap(asked.languages, one.languages) &&
      overlap(asked.regions, one.regions)
    for (const group of asked.needs ?? []) if (!group.some((field) => one.fields.indexOf(field) >= 0)) takesPart = false
    if (takesPart) participants.push(one)
  }
  if (participants.length === 0) return 'refused'
  const allowedSomewhere = (value: string, pick: (one: ScopeEntry) => readonly string[] | null) =>
    participants.some((one) => inList(pick(one), value))
  for (const value of asked.datasets ?? []) if (!allowedSomewhere(value, (one) => one.datasets)) return 'refused'
  for (const value of asked.platforms ?? []) if (!allowedSomewhere(value, (one) => one.platforms)) return 'refused'
  for (const value of asked.languages ?? []) if (!allowedSomewhere(value, (one) => one.languages)) return 'refused'
  for (const value of asked.regions ?? []) if (!allowedSomewhere(value, (one) => one.regions)) return 'refused'
  for (const { openedBy } of asked.fields ?? []) {
    if (!participants.some((one) => openedBy.some((field) => one.fields.indexOf(field) >= 0))) return 'refused'
  }

  if (!inList(asked.datasets, doc.datasetId) || !inList(asked.platforms, doc.platform)) return 'invisible'
  if (!inList(asked.languages, doc.language) || !inList(asked.regions, doc.region)) return 'invisible'
  const open = new Set<FieldPermission>()
  let visible = false
  for (const one of participants) {
    if (!inList(one.datasets, doc.datasetId) || !inList(one.platforms, doc.platform)) continue
    if (!inList(one.languages, doc.language) || !inList(one.regions, doc.region)) continue
    if (one.publishedFrom !== null && (doc.publishedAt === null || doc.publishedAt < one.publishedFrom)) continue
    if (one.publishedTo !== null && (doc.publishedAt === null || doc.publishedAt >= one.publishedTo)) continue
    visible = true
    for (const field of one.fields) open.add(field)
  }
  return visible ? open : 'invisible'
}

/** Throws on the first counterexample. Returns the number of cases with each verdict, to show that all were met. */
export function checkScopeProperty(cases: number, seed?: number): Record<'refused' | 'invisible' | 'visible', number> {
  const met = { refused: 0, invisible: 0, visible: 0 }
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), request, document, (entries, asked, doc) => {
      const access = compileScope(entries, asked)
      const got: Verdict = access.allowed ? (readableFields(access.scope, doc) ?? 'invisible') : 'refused'
      const expected = oracle(entries, asked, doc)
      assert.deepEqual(got, expected)
      met[typeof expected === 'string' ? expected : 'visible']++
    }),
    { numRuns: cases, ...(seed === undefined ? {} : { seed }) },
  )
  assert.ok(
    met.refused > 0 && met.invisible > 0 && met.visible > 0,
    `every verdict must be met: ${JSON.stringify(met)}`,
  )
  return met
}
