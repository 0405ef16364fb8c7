import fc from 'fast-check'
import { type FieldPermission, fieldPermissions, type Scope, type ScopeEntry } from '../../src/access/scope.ts'
import type { Fact } from '../../src/document/fields.ts'
import type { IncomingDocument, Outcome } from '../../src/ingest/content-store.ts'
import { openedBy, sampledFields } from '../support/document-fields.ts'

/**
 * The effect of sending documents, written a second time and as plainly as possible. A document has the last value sent
 * for each field. There is a version for each change of text, a snapshot for each change of numbers, and an event for
 * each of those and for a change of any other visible field. Small alphabets make every coincidence frequent, such as
 * the same text again or a removed field.
 */
export interface ModelDocument {
  readonly said: Map<string, unknown>
  readonly versions: { title: unknown; body: unknown; language: unknown; publishedAt: unknown }[]
  readonly snapshots: { score: unknown; metrics: unknown; observedAt: number }[]
  facts: readonly Fact[]
  firstAt: number
  seenAt: number
}

/** The values by which an entry covers a document. */
interface ModelPlace {
  readonly dataset: string
  readonly platform: string
  readonly language: string | null
  readonly region: string | null
  readonly publishedAt: number | null
}

/** The changes that one sent document made, by the names that events use. */
interface ModelChange {
  readonly identity: string
  readonly isNew: boolean
  /** The number of the new version, from 1; null without one. */
  readonly version: number | null
  readonly text: readonly string[]
  readonly numbers: readonly string[]
  readonly others: readonly string[]
  /** The other changed fields that are part of the document object. */
  readonly shown: readonly string[]
  readonly before: ModelPlace | null
  readonly after: ModelPlace
  readonly observedAt: number
  readonly ingestedAt: number
}

export interface ModelEvent {
  readonly identity: string
  readonly type: string
  readonly fields: readonly string[]
  readonly observedAt: number
  readonly ingestedAt: number
  /** The number of the version it names, from 1; null for none. */
  readonly version: number | null
}

/** The API names of fields by their internal names; these fields are compared and listed as changed. */
const plainFields: Readonly<Record<string, string>> = {
  ...Object.fromEntries(sampledFields.map(({ property, name }) => [property, name])),
  quality: 'quality',
  extraPayload: 'extra_payload',
}

/** An empty list or object counts as null. */
function normal(value: unknown): unknown {
  if (value === null || value === undefined || typeof value !== 'object') return value
  return Object.keys(value).length === 0 ? null : value
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value ?? null
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
}

export class ContentModel {
  readonly documents = new Map<string, ModelDocument>()
  /** The sent documents that changed something, in order. */
  readonly changes: ModelChange[] = []

  /** The feed of a reader with these entries that requests every type. */
  events({ entries }: Scope): ModelEvent[] {
    return this.changes.flatMap((change) => {
      const { identity, isNew, version, text, numbers, others, shown, before, after, observedAt, ingestedAt } = change
      const events: ModelEvent[] = []
      const tell = (type: string, number: number | null, fields: readonly string[]) =>
        events.push({ identity, type, fields, observedAt, ingestedAt, version: number })
      const open = entries.filter((entry) => covers(entry, after))
      const isOpenTo = (field: string) => open.some((entry) => isReadable(field, entry.fields))
      if (open.length === 0) {
        // A former reader must learn that the document left, but nothing about its current state.
        const moved = shown.filter((field) => ['language', 'region', 'published_at'].includes(field))
        if (before !== null && entries.some((entry) => covers(entry, before)) && moved.length > 0)
          tell('document.updated', null, moved)
        return events
      }
      const named = (fields: readonly string[]) => fields.filter(isOpenTo)
      if (isNew) {
        tell('document.created', 1, named([...text, ...others, ...numbers]))
        return events
      }
      if (version !== null) tell('document.version.created', version, named([...text, ...others]))
      if (numbers.some(isOpenTo)) tell('document.metrics.updated', null, named(numbers))
      const rest = named(shown)
      // A new time of observation alone is an event only for readers that get no other event.
      if (rest.some((field) => field !== 'observed_at') || (rest.length > 0 && events.length === 0))
        tell('document.updated', null, rest)
      return events
    })
  }

  take(sent: IncomingDocument, nowMs: number): Outcome {
    const identity = identityOf(sent)
    let document = this.documents.get(identity)
    const isNew = document === undefined
    if (document === undefined) {
      document = {
        said: new Map([['status', 'active']]),
        versions: [],
        snapshots: [],
        facts: [],
        firstAt: nowMs,
        seenAt: nowMs,
      }
      this.documents.set(identity, document)
    }
    document.seenAt = sent.observedAt ?? nowMs
    const { said } = document
    const place = (): ModelPlace => ({
      dataset: sent.datasetId,
      platform: sent.platform,
      language: (said.get('language') as string | undefined) ?? null,
      region: (said.get('region') as string | undefined) ?? null,
      publishedAt: (said.get('publishedAt') as number | undefined) ?? null,
    })
    const before = isNew ? null : place()
    const put = (name: string, value: unknown): boolean => {
      if (value === undefined || same(said.get(name), normal(value))) return false
      said.set(name, normal(value))
      return true
    }

    const plain: string[] = []
    for (const [name, field] of Object.entries(plainFields)) {
      if (put(name, sent[name as keyof IncomingDocument])) plain.push(field)
    }
    if (put('observedAt', sent.observedAt)) plain.push('observed_at')
    const text = (['title', 'body'] as const).filter((name) => put(name, sent[name]))
    const numbers = (['score', 'metrics'] as const).filter((name) => put(name, sent[name]))
    const newVersion = isNew || text.length > 0

    const ended = newVersion ? document.facts.filter((fact) => fact.level === 'document') : document.facts
    const facts = sent.facts === undefined ? ended : (sent.facts ?? [])
    if (JSON.stringify(facts) !== JSON.stringify(document.facts)) plain.push('facts')
    const reclassified = !same(codesOf(facts), codesOf(document.facts))
    document.facts = facts

    if (!newVersion && numbers.length === 0 && plain.length === 0) return 'unchanged'
    if (sent.observedAt === undefined && put('observedAt', nowMs)) plain.push('observed_at')
    const observedAt = said.get('observedAt') as number
    const { versions, snapshots } = document
    const of = (name: string) => said.get(name) ?? null
    if (newVersion) {
      versions.push({ title: of('title'), body: of('body'), language: of('language'), publishedAt: of('publishedAt') })
    } else if (plain.includes('language')) versions.at(-1)!.language = of('language')
    if (numbers.length > 0) snapshots.push({ score: of('score'), metrics: of('metrics') ?? {}, observedAt })

    const others = plain.filter((field) => !['quality', 'extra_payload'].includes(field))
    const shown = others.filter((field) => field !== 'facts')
    if (reclassified) shown.push('classifications')
    const version = newVersion ? versions.length : null
    const what = { identity, isNew, version, text, numbers, others, shown }
    this.changes.push({ ...what, before, after: place(), observedAt, ingestedAt: nowMs })
    if (isNew) return 'created'
    return newVersion ? 'version_created' : numbers.length > 0 ? 'metrics_updated' : 'updated'
  }
}

function covers(entry: ScopeEntry, { dataset, platform, language, region, publishedAt }: ModelPlace): boolean {
  const has = (list: readonly string[] | null, value: string | null) =>
    list === null || (value !== null && list.includes(value))
  const isTimed = entry.publishedFrom !== null || entry.publishedTo !== null
  return (
    has(entry.datasets, dataset) &&
    has(entry.platforms, platform) &&
    has(entry.languages, language) &&
    has(entry.regions, region) &&
    (!isTimed ||
      (publishedAt !== null &&
        publishedAt >= (entry.publishedFrom ?? Number.NEGATIVE_INFINITY) &&
        publishedAt < (entry.publishedTo ?? Number.POSITIVE_INFINITY)))
  )
}

const isReadable = (field: string, fields: readonly FieldPermission[]): boolean =>
  openedBy[field] === undefined || fields.some((permission) => openedBy[field]!.includes(permission))

export const identityOf = (one: { datasetId: string; platform: string; externalId: string }): string =>
  [one.datasetId, one.platform, one.externalId].join(' ')

export const codesOf = (facts: readonly Fact[]): string[] => [
  ...new Set(
    facts.filter((fact) => fact.kind === 'category').flatMap((fact) => (fact.metadata.label_code as string) ?? []),
  ),
]

const absent = undefined
const fact: fc.Arbitrary<Fact> = fc.record({
  kind: fc.constantFrom('category', 'entity'),
  level: fc.constantFrom('document', 'version'),
  metadata: fc.constantFrom({ label_code: 'a' }, { label_code: 'b' }, { other: 1 }),
})
/** Most values are absent, so that documents that change nothing are frequent too. */
const oneOf = <T>(...values: T[]) =>
  fc.constantFrom<T | null | undefined>(...Array(2 * values.length + 3).fill(absent), null, ...values)

/** A validated document, as a collector's request yields it: with a title or a body. */
export const incoming: fc.Arbitrary<IncomingDocument> = fc
  .record({
    datasetId: fc.constantFrom('d1', 'd1', 'd2'),
    platform: fc.constantFrom('p1', 'p1', 'p2'),
    externalId: fc.constantFrom('1', '2', '3'),
    ...Object.fromEntries(sampledFields.map(({ property, samples }) => [property, oneOf(...samples)])),
    status: fc.constantFrom('active', 'unavailable', absent, absent),
    publishedAt: oneOf(1_000, 2_000),
    observedAt: fc.constantFrom(absent, absent, 5_000, 6_000),
    title: fc.constantFrom(absent, null, 'T1', 'T2'),
    body: fc.constantFrom(absent, null, 'B1', 'B2', 'B3'),
    author: oneOf<Record<string, unknown>>({ external_author_id: 'u1' }, { nickname: 'N' }, {}),
    topics: oneOf<string[]>(['x'], ['x', 'y'], []),
    score: oneOf(0, 1, -5),
    metrics: oneOf<Record<string, number>>({ a: 1 }, { a: 1, b: 2 }, { b: 2, a: 1 }, {}),
    quality: oneOf(0, 0.5),
    facts: fc.oneof(fc.constantFrom(absent, absent, null), fc.array(fact, { maxLength: 3 })),
    extraPayload: oneOf<Record<string, unknown>>({ any: ['thing'] }, { other: null }),
  })
  .map((one) => (one.title || one.body ? one : { ...one, body: 'B1' }))
  .map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== absent)) as never)

/** Entitlements of every kind, over the values of `incoming`. */
export const anyScope: fc.Arbitrary<Scope> = fc
  .array(
    fc.record<ScopeEntry>({
      datasets: fc.constantFrom(['d1'], ['d2'], ['d1', 'd2']),
      platforms: fc.constantFrom(null, null, ['p1'], ['p2']),
      languages: fc.constantFrom(null, null, ['en'], ['de'], ['en', 'de']),
      regions: fc.constantFrom(null, null, ['GB'], ['FR']),
      publishedFrom: fc.constantFrom(null, null, 1_000, 1_500),
      publishedTo: fc.constantFrom(null, null, 2_000, 3_000),
      fields: fc.oneof(fc.constant(fieldPermissions), fc.subarray([...fieldPermissions])),
    }),
    { minLength: 1, maxLength: 3 },
  )
  .map((entries) => ({ entries }))
