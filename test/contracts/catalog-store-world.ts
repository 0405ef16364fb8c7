import fc from 'fast-check'
import { fieldPermissions, type ScopeEntry } from '../../src/access/scope.ts'
import type { BrowseQuery } from '../../src/catalog/catalog-store.ts'
import type { Conditions } from '../../src/document/field-types.ts'
import type { IncomingDocument } from '../../src/ingest/content-store.ts'

/**
 * A small world of documents, and the rules of listings written a second time, as plainly as possible. Shares no code
 * with any store. Small alphabets make every coincidence frequent; some values are on half of the documents, some on
 * few.
 */
export const datasets = ['d1', 'd2', 'd3'] as const
const platforms = ['p1', 'p2', 'p3'] as const
/** Case, spaces, symbols and accents matter. */
const words = ['common', 'Common', 'half', 'rare', '#rare', 'très rare', 'common ', '通り'] as const
const codes = ['sport', 'Sport', 'news'] as const
const languages = ['en', 'de', 'is'] as const
const regions = ['GB', 'DE', 'IS'] as const
const contentTypes = ['article', 'post', 'video'] as const
const authors = ['u1', 'U1', 'u2', 'u3'] as const
const urls = ['https://a.example/1', 'https://a.example/2', 'HTTPS://a.example/1'] as const

const dayMs = 86_400_000
/** The start of the world. Its documents arrive over the following 40 days. */
export const worldStartMs = Date.UTC(2026, 0)
const worldDays = 40

/** Null once in `freq` cases; always null for 1. */
const orNull = <T>(values: fc.Arbitrary<T>, freq = 2) => fc.option(values, { nil: null, freq })
const some = <T>(...values: readonly T[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: values.length })
/** Early values are far more frequent than late ones. */
const skewed = <T>(values: readonly T[]) =>
  fc.oneof(
    ...values.map((value, i) => ({ arbitrary: fc.constant(value), weight: Math.ceil(60 / (i + 1) ** 2) })),
  ) as fc.Arbitrary<T>

const score = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.integer({ min: -2500, max: 2500 }),
  fc.constantFrom(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, -5_000_000, 1_000_000_000, 0),
)
const published = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -3, max: worldDays }).map((day) => worldStartMs + day * dayMs) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: worldDays * dayMs }).map((ms) => worldStartMs + ms) },
  { weight: 1, arbitrary: fc.constantFrom(-1, 0, 1, -dayMs, -dayMs - 1, Date.UTC(1000, 0, 1), Date.UTC(2400, 0, 1)) },
)
const wordList = orNull(fc.uniqueArray(skewed(words), { maxLength: 3 }), 9)

/** Everything that a document can contain and a listing can filter by. */
const content = fc.record({
  url: orNull(fc.constantFrom(...urls)),
  contentType: orNull(skewed(contentTypes), 9),
  language: orNull(skewed(languages), 9),
  region: orNull(skewed(regions), 9),
  status: fc.constantFrom('active', 'active', 'active', 'unavailable' as const),
  publishedAt: orNull(published, 9),
  author: orNull(
    skewed(authors).map((id) => ({ external_author_id: id })),
    4,
  ),
  topics: wordList,
  tags: wordList,
  score: orNull(score, 9),
  facts: orNull(
    fc.array(
      fc.record({
        kind: fc.constantFrom('category', 'category', 'category', 'other'),
        level: fc.constantFrom('document', 'version' as const),
        metadata: fc.oneof(
          { weight: 9, arbitrary: skewed(codes).map((code) => ({ label_code: code })) },
          { weight: 1, arbitrary: fc.constantFrom<Record<string, unknown>>({}, { label_code: 7 }, { code: 'sport' }) },
        ),
      }),
      { maxLength: 2 },
    ),
    4,
  ),
})
type Content = typeof content extends fc.Arbitrary<infer T> ? T : never

/** One arrival: some documents in one millisecond, new ones or old ones again. */
export interface Arrival {
  readonly atMs: number
  readonly documents: readonly IncomingDocument[]
}

const incoming = fc
  .record({
    datasetId: skewed(datasets),
    platform: skewed(platforms),
    number: fc.integer({ min: 0, max: 400 }),
    content,
    body: fc.constantFrom('one', 'two'),
  })
  .map(
    ({ datasetId, platform, number, content: said, body }): IncomingDocument => ({
      datasetId,
      platform,
      externalId: `x${number}`,
      title: null,
      body,
      ...said,
    }),
  )

/** Arrivals over the whole time of the world, in order. */
export const history = (arrivals: number): fc.Arbitrary<readonly Arrival[]> =>
  fc
    .array(
      fc.record({
        atMs: fc.integer({ min: 0, max: worldDays * dayMs }).map((ms) => worldStartMs + ms),
        documents: fc.array(incoming, { minLength: 1, maxLength: 6 }),
      }),
      { minLength: arrivals, maxLength: arrivals, size: 'max' },
    )
    .map((all) => all.sort((a, b) => a.atMs - b.atMs))

/** The state of a document in the world. */
export interface Known {
  readonly documentId: string
  readonly createdAt: number
  readonly datasetId: string
  readonly platform: string
  readonly externalId: string
  readonly content: Content
  readonly codes: ReadonlySet<string>
}

const codesOf = (facts: Content['facts']): Set<string> => {
  const found = new Set<string>()
  for (const fact of facts ?? []) {
    const code = (fact.metadata as Record<string, unknown>).label_code
    if (fact.kind === 'category' && typeof code === 'string') found.add(code)
  }
  return found
}

/** The state of a document after an arrival. Every arrival sends all fields, so the last one counts. */
export function knownAfter(before: Known | undefined, sent: IncomingDocument, documentId: string, atMs: number): Known {
  const { datasetId, platform, externalId, title: _title, body: _body, ...said } = sent
  const all = said as unknown as Content
  const createdAt = before?.createdAt ?? atMs
  return { documentId, createdAt, datasetId, platform, externalId, content: all, codes: codesOf(all.facts) }
}

const entry: fc.Arbitrary<ScopeEntry> = fc.record({
  datasets: some(...datasets),
  platforms: orNull(some(...platforms)),
  languages: orNull(some(...languages)),
  regions: orNull(some(...regions)),
  publishedFrom: orNull(published),
  publishedTo: orNull(published),
  fields: fc.constant(fieldPermissions),
})
const open: ScopeEntry = {
  datasets,
  platforms: null,
  languages: null,
  regions: null,
  publishedFrom: null,
  publishedTo: null,
  fields: fieldPermissions,
}
const scopes = fc.oneof(
  fc.constant([open]),
  fc.array(entry, { minLength: 1, maxLength: 5 }),
  fc.array(entry, { minLength: 1, maxLength: 3 }).map((entries) => [...entries, open]),
)

/** A list of values for a listing: mostly few, sometimes very many, most of which do not occur. */
const asked = (...values: readonly string[]) =>
  fc
    .tuple(some(...values, 'absent'), fc.constantFrom(0, 0, 0, 12, 90))
    .map(([list, more]) => [...list, ...Array.from({ length: more }, (_, i) => `unheard of ${i}`)])

/** A listing without its page. Times mostly divide the world somewhere. `exact` is rare because it decides alone. */
export const listing: fc.Arbitrary<Omit<BrowseQuery, 'before' | 'limit' | 'snapshot' | 'answerBy'>> = fc
  .record({
    entries: scopes,
    author: orNull(fc.tuple(fc.constantFrom(...authors, 'nobody'), fc.constantFrom(...platforms))),
    topics: orNull(asked(...words)),
    tags: orNull(asked(...words)),
    classifications: orNull(asked(...codes)),
    contentTypes: orNull(some(...contentTypes)),
    score: fc.record({ min: orNull(score), max: orNull(score) }),
    publishedFrom: orNull(published),
    publishedTo: orNull(published),
    createdFrom: orNull(fc.integer({ min: -1, max: worldDays }), 2),
    createdTo: orNull(fc.integer({ min: 0, max: worldDays + 1 }), 2),
    status: orNull(fc.constantFrom('active', 'unavailable' as const)),
    exact: fc.record({
      text: fc.oneof(
        fc.constantFrom<string>(...urls),
        fc.integer({ min: 0, max: 400 }).map((n) => `x${n}`),
      ),
      platforms: orNull(some(...platforms), 2),
    }),
    // Which of the conditions drawn above are kept: few conditions match many documents, many match few.
    keep: fc.uniqueArray(fc.integer({ min: 0, max: 8 }), { maxLength: 4 }),
    exactly: fc.integer({ min: 0, max: 9 }),
  })
  .map((drawn) => {
    const kept = <T>(place: number, value: T): T | null => (drawn.keep.includes(place) ? value : null)
    const author = kept(0, drawn.author)
    const day = (days: number | null) => (days === null ? null : worldStartMs + days * dayMs)
    return {
      // A listing by author names its platform, so every entry is narrowed to it or dropped.
      scope: { entries: author === null ? drawn.entries : narrowed(drawn.entries, author[1]) },
      conditions: withoutNulls({
        externalAuthorId: author && [author[0]],
        topics: kept(1, drawn.topics),
        tags: kept(2, drawn.tags),
        classifications: kept(3, drawn.classifications),
        score: kept(5, drawn.score.min === null && drawn.score.max === null ? null : drawn.score),
      }),
      contentTypes: kept(4, drawn.contentTypes),
      publishedFrom: kept(6, drawn.publishedFrom),
      publishedTo: kept(6, drawn.publishedTo),
      status: kept(7, drawn.status),
      createdFrom: day(drawn.createdFrom),
      createdTo: day(drawn.createdTo),
      exact: drawn.exactly === 0 ? drawn.exact : null,
    }
  })

const withoutNulls = (conditions: { readonly [Name in keyof Conditions]: Conditions[Name] | null }): Conditions =>
  Object.fromEntries(Object.entries(conditions).filter(([, condition]) => condition !== null))

function narrowed(entries: readonly ScopeEntry[], platform: string): ScopeEntry[] {
  return entries
    .filter((one) => one.platforms === null || one.platforms.includes(platform))
    .map((one) => ({ ...one, platforms: [platform] }))
}

/** The rules of the listing, applied to each document; newest first. */
export function expected(
  known: Iterable<Known>,
  query: typeof listing extends fc.Arbitrary<infer T> ? T : never,
): string[] {
  const within = (list: readonly string[] | null, value: string | null) =>
    list === null || (value !== null && list.includes(value))
  const from = (least: number | null, value: number | null) => least === null || (value !== null && value >= least)
  const below = (end: number | null, value: number | null) => end === null || (value !== null && value < end)
  const any = (list: readonly string[] | undefined, values: Iterable<string | undefined>) =>
    list === undefined || [...values].some((value) => value !== undefined && list.includes(value))
  const { externalAuthorId, topics, tags, classifications, score } = query.conditions
  const matches = ({ documentId, createdAt, datasetId, platform, externalId, content: of, codes: has }: Known) =>
    query.scope.entries.some(
      (one) =>
        one.datasets.includes(datasetId) &&
        within(one.platforms, platform) &&
        within(one.languages, of.language) &&
        within(one.regions, of.region) &&
        from(one.publishedFrom, of.publishedAt) &&
        below(one.publishedTo, of.publishedAt),
    ) &&
    any(externalAuthorId, [of.author?.external_author_id as string | undefined]) &&
    any(topics, of.topics ?? []) &&
    any(tags, of.tags ?? []) &&
    any(classifications, has) &&
    within(query.contentTypes, of.contentType) &&
    (score === undefined ||
      (of.score !== null && of.score >= (score.min ?? -Infinity) && of.score <= (score.max ?? Infinity))) &&
    from(query.publishedFrom, of.publishedAt) &&
    below(query.publishedTo, of.publishedAt) &&
    from(query.createdFrom, createdAt) &&
    below(query.createdTo, createdAt) &&
    (query.status === null || of.status === query.status) &&
    (query.exact === null ||
      query.exact.text === documentId ||
      query.exact.text === of.url ||
      (query.exact.platforms?.includes(platform) && query.exact.text === externalId))
  const ids: string[] = []
  for (const one of known) if (matches(one)) ids.push(one.documentId)
  return ids.sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
}
