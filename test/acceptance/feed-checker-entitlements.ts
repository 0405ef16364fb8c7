import { openedBy, fieldPermissions as permissions } from '../support/document-fields.ts'
import type { FeedEvent, Sent } from './content.ts'
import { isStill } from './feed-checker-verify.ts'

/**
 * The events that applications with entitlements of every kind must see, derived a second time from the sent documents.
 * A document is its last sent state. Each state that differs from the previous one makes events for the applications
 * that may read it at that time.
 */
interface Entry {
  readonly datasets: readonly string[]
  readonly platforms?: readonly string[]
  readonly languages?: readonly string[]
  readonly regions?: readonly string[]
  readonly published_from?: string
  readonly published_to?: string
  readonly fields?: readonly string[]
}

const datasets = ['even', 'odd']
const without = (left: string) => permissions.filter((one) => one !== left)

/** Values of documents, chosen so that each application can read some. */
export const languages = ['de', 'en', 'fr']
export const regions = ['DE', 'GB']
export const years = [2024, 2025, 2026].map((year) => `${year}-01-01T00:00:00Z`)

export const entitled: readonly { readonly name: string; readonly entitlements: readonly Entry[] }[] = [
  { name: 'a dataset', entitlements: [{ datasets: ['even'] }] },
  { name: 'a platform', entitlements: [{ datasets, platforms: ['w0'] }] },
  { name: 'a language', entitlements: [{ datasets, languages: ['de'] }] },
  { name: 'a region', entitlements: [{ datasets, regions: ['GB'] }] },
  { name: 'a window', entitlements: [{ datasets, published_from: years[1]!, published_to: years[2]! }] },
  ...permissions.map((one) => ({ name: `without ${one}`, entitlements: [{ datasets, fields: without(one) }] })),
  {
    name: 'a dataset with metrics and one without',
    entitlements: [{ datasets: ['even'] }, { datasets: ['odd'], fields: without('metrics') }],
  },
  {
    name: 'two languages with fields of their own, a window',
    entitlements: [
      { datasets, languages: ['de'], fields: ['title', 'body'] },
      { datasets, languages: ['en'], regions: ['GB'], fields: ['metadata', 'metrics'] },
      { datasets: ['odd'], published_from: years[2]!, fields: ['facts'] },
    ],
  },
]

export interface Entitled {
  readonly name: string
  readonly entitlements: readonly Entry[]
  /** The events that it saw while documents were written and servers killed. */
  readonly events: readonly FeedEvent[]
  readonly pages: number
  /** Its feed, read in one go after everything else. */
  readonly feed: readonly FeedEvent[]
}

/** All faults in the events that an application saw. `states` has all sent states of each document, in order. */
export function faultsOf(
  { name, entitlements, events, feed }: Entitled,
  whole: readonly FeedEvent[],
  states: ReadonlyMap<string, readonly Sent[]>,
): string[] {
  const faults: string[] = []
  if (events.length !== feed.length) faults.push(`${name} saw ${events.length} events, and its feed has ${feed.length}`)
  events.forEach((event, i) => {
    const known = feed[i]
    if (known === undefined || !isStill(event, known))
      faults.push(`${name} saw ${event.sequence} otherwise, or in vain`)
  })
  feed.forEach((event, i) => {
    if (i > 0 && event.sequence <= feed[i - 1]!.sequence) faults.push(`${name} has ${event.sequence} out of order`)
  })

  const erased = new Set(whole.flatMap((one) => (isErasure(one) ? [one.document_id] : [])))
  // Events of erased documents lose their fields at some moment after the erasure.
  const nameOf = (documentId: string, type: string, fields: readonly string[]): string =>
    `${type} ${erased.has(documentId) ? '' : [...fields].sort()}`
  const expected = new Map<string, string[]>()
  const expect = ({ document_id, ingested_at }: FeedEvent, lines: readonly string[]): void => {
    expected.set(`${document_id} ${ingested_at}`, [...(expected.get(`${document_id} ${ingested_at}`) ?? []), ...lines])
  }
  for (const [documentId, ofDocument] of Map.groupBy(whole, (one) => one.document_id)) {
    const sent = states.get(documentId) ?? []
    const changes = [
      ...Map.groupBy(
        ofDocument.filter((one) => !isErasure(one)),
        (one) => one.ingested_at,
      ).values(),
    ]
    if (changes.length !== sent.length)
      faults.push(`${documentId} was sent ${sent.length} times, with ${changes.length} events`)
    changes.forEach(([event], i) => {
      const told = i < sent.length ? toldOf(entitlements, sent[i - 1] ?? null, sent[i]!) : []
      expect(
        event!,
        told.map(([type, fields]) => nameOf(documentId, type, fields)),
      )
    })
    const erasure = ofDocument.find(isErasure)
    if (erasure !== undefined && readersOfAny(entitlements, sent))
      expect(erasure, [nameOf(documentId, 'document.erased', [])])
  }
  const found = Map.groupBy(feed, ({ document_id, ingested_at }) => `${document_id} ${ingested_at}`)
  for (const key of new Set([...expected.keys(), ...found.keys()])) {
    const is = (found.get(key) ?? []).map((one) => nameOf(one.document_id, one.event_type, one.changed_fields))
    const due = expected.get(key) ?? []
    if (is.join('; ') !== due.join('; ')) faults.push(`${name} has of ${key}: ${is.join('; ')}, not: ${due.join('; ')}`)
  }
  return faults
}

const isErasure = ({ event_type }: FeedEvent): boolean => event_type === 'document.erased'

/** A new document is active unless it says otherwise. */
export const changedIn = (before: Sent | null, after: Sent): string[] =>
  Object.keys(after).filter((name) => {
    const known: Sent = { status: 'active', ...before }
    return JSON.stringify(known[name]) !== JSON.stringify(after[name])
  })

/** The events of one change for this application, with the fields that they name. */
function toldOf(entries: readonly Entry[], before: Sent | null, after: Sent): [type: string, fields: string[]][] {
  const changed = changedIn(before, after)
  const open = entries.filter((entry) => covers(entry, after))
  if (open.length === 0) {
    const moved = changed.filter((name) => ['language', 'region', 'published_at'].includes(name))
    const isLeaving = before !== null && moved.length > 0 && entries.some((entry) => covers(entry, before))
    return isLeaving ? [['document.updated', moved]] : []
  }
  const isOpen = (name: string) =>
    openedBy[name] === undefined ||
    open.some(({ fields = permissions }: Entry) => openedBy[name]!.some((one) => fields.includes(one)))
  const named = changed
    .filter((name) => !['external_id', 'dataset_id', 'source_platform', 'quality'].includes(name))
    .concat('observed_at')
    .filter(isOpen)
  const isText = (name: string) => name === 'title' || name === 'body'
  if (before === null) return [['document.created', named]]
  const told: [string, string[]][] = []
  const rest = named.filter((name) => name !== 'score' && !isText(name))
  if (changed.some(isText)) told.push(['document.version.created', named.filter((name) => name !== 'score')])
  if (named.includes('score')) told.push(['document.metrics.updated', ['score']])
  const shown = rest.map((name) => (name === 'facts' ? 'classifications' : name))
  if (shown.length > 1 || told.length === 0) told.push(['document.updated', shown])
  return told
}

/** Whether the application may read a document, or one of its texts, when it is erased. */
function readersOfAny(entries: readonly Entry[], sent: readonly Sent[]): boolean {
  const last = sent.at(-1)!
  const texts: unknown[] = []
  sent.forEach((one, i) => {
    if (i === 0 || one.title !== sent[i - 1]!.title || one.body !== sent[i - 1]!.body) texts.push(one.language)
    else if (one.language !== sent[i - 1]!.language) texts[texts.length - 1] = one.language
  })
  return entries.some((entry) =>
    [last.language, ...texts].some((language) => covers(entry, { ...last, language: language ?? last.language })),
  )
}

function covers(entry: Entry, document: Sent): boolean {
  const has = (list: readonly string[] | undefined, value: unknown) => list?.includes(value as string) ?? true
  const { published_from: from, published_to: to } = entry
  const at = document.published_at as string | undefined
  return (
    has(entry.datasets, document.dataset_id) &&
    has(entry.platforms, document.source_platform) &&
    has(entry.languages, document.language) &&
    has(entry.regions, document.region) &&
    ((from === undefined && to === undefined) ||
      (at !== undefined && (from === undefined || at >= from) && (to === undefined || at < to)))
  )
}
