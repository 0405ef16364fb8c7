import fc from 'fast-check'
import type { Fact, IncomingDocument, Outcome } from '../../src/ingest/content-store.ts'

/**
 * What sending documents comes to, stated a second time and as plainly as possible: a document is what was last said of
 * each of its fields; a version for each change of text, a snapshot for each change of numbers, an event for each of
 * those and for a change of anything else that consumers see. Small alphabets make every coincidence (the same text again, a field taken away, …) frequent.
 */
export interface ModelDocument {
  readonly said: Map<string, unknown>
  readonly versions: { title: unknown; body: unknown; language: unknown; publishedAt: unknown }[]
  readonly snapshots: { score: unknown; metrics: unknown; observedAt: number }[]
  facts: readonly Fact[]
  firstAt: number
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

/** Field of the API by the name it has in our own words; what is compared and listed as changed. */
const plainFields = {
  url: 'url',
  contentType: 'content_type',
  language: 'language',
  region: 'region',
  status: 'status',
  publishedAt: 'published_at',
  author: 'author',
  topics: 'topics',
  tags: 'tags',
  quality: 'quality',
  extraPayload: 'extra_payload',
} as const

/** An empty list or object says as little as null. */
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
  readonly events: ModelEvent[] = []

  take(sent: IncomingDocument, nowMs: number): Outcome {
    const identity = identityOf(sent)
    let document = this.documents.get(identity)
    const isNew = document === undefined
    if (document === undefined) {
      document = { said: new Map([['status', 'active']]), versions: [], snapshots: [], facts: [], firstAt: nowMs }
      this.documents.set(identity, document)
    }
    const { said } = document
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

    const visible = plain.filter((field) => field !== 'extra_payload')
    const tell = (type: string, version: number | null, fields: readonly string[]) =>
      this.events.push({ identity, type, fields, observedAt, ingestedAt: nowMs, version })
    if (isNew) tell('document.created', 1, [...text, ...visible, ...numbers])
    else {
      if (newVersion) tell('document.version.created', versions.length, [...text, ...visible])
      if (numbers.length > 0) tell('document.metrics.updated', null, numbers)
      const shown = plain.filter((field) => !['quality', 'extra_payload', 'facts'].includes(field))
      if (reclassified) shown.push('classifications')
      const seenOnly = String(shown) === 'observed_at' && (newVersion || numbers.length > 0)
      if (shown.length > 0 && !seenOnly) tell('document.updated', null, shown)
    }
    if (isNew) return 'created'
    return newVersion ? 'version_created' : numbers.length > 0 ? 'metrics_updated' : 'updated'
  }
}

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
/** Most of what could be said is not, so that a document that says nothing new is met too. */
const oneOf = <T>(...values: T[]) =>
  fc.constantFrom<T | null | undefined>(...Array(2 * values.length + 3).fill(absent), null, ...values)

/** A checked document, as a collector's request leaves it: with a title or a body. */
export const incoming: fc.Arbitrary<IncomingDocument> = fc
  .record({
    datasetId: fc.constantFrom('d1', 'd1', 'd2'),
    platform: fc.constantFrom('p1', 'p1', 'p2'),
    externalId: fc.constantFrom('1', '2', '3'),
    url: oneOf('https://a.example', 'https://b.example'),
    contentType: oneOf('article', 'post'),
    language: oneOf('en', 'de'),
    region: oneOf('GB'),
    status: fc.constantFrom('active', 'unavailable', absent, absent),
    publishedAt: oneOf(1_000, 2_000),
    observedAt: fc.constantFrom(absent, absent, 5_000, 6_000),
    title: fc.constantFrom(absent, null, 'T1', 'T2'),
    body: fc.constantFrom(absent, null, 'B1', 'B2', 'B3'),
    author: oneOf<Record<string, unknown>>({ external_author_id: 'u1' }, { nickname: 'N' }, {}),
    topics: oneOf<string[]>(['x'], ['x', 'y'], []),
    tags: oneOf<string[]>(['t'], ['u', 't']),
    score: oneOf(0, 1, -5),
    metrics: oneOf<Record<string, number>>({ a: 1 }, { a: 1, b: 2 }, { b: 2, a: 1 }, {}),
    quality: oneOf(0, 0.5),
    facts: fc.oneof(fc.constantFrom(absent, absent, null), fc.array(fact, { maxLength: 3 })),
    extraPayload: oneOf<Record<string, unknown>>({ any: ['thing'] }, { other: null }),
  })
  .map((one) => (one.title || one.body ? one : { ...one, body: 'B1' }))
  .map((one) => Object.fromEntries(Object.entries(one).filter(([, value]) => value !== absent)) as never)
