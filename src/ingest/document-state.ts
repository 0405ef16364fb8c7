import { hash } from 'node:crypto'
import { bitsThatOpen, openedBy } from '../access/event-fields.ts'
import type { IncomingDocument, KnownDocument } from '../document/field-types.ts'
import { documentStatuses, type Fact } from '../document/fields.ts'
import { documentColumns, type FieldRow, fieldRows, isJson } from '../document/rows.ts'
import { type IdPrefix, idTimeMs, newId } from '../platform/ids.ts'
import type { Outcome } from './content-store.ts'

/** The rows that a batch adds beside the documents themselves, in the order of the changes. */
export class BatchRecord {
  readonly versions: {
    readonly versionId: string
    readonly documentId: string
    readonly title: string | null
    readonly body: string | null
    language: string | null
    readonly publishedAt: number | null
    indexRevision: number
  }[] = []
  /** Stored versions whose language was corrected, so their words must be analysed again. */
  readonly languageFixes: {
    readonly versionId: string
    readonly language: string | null
    readonly indexRevision: number
  }[] = []
  /**
   * Documents whose language changed. Versions without a language of their own take that of the document, so they are
   * indexed again.
   */
  readonly followed: { readonly documentId: string; readonly indexRevision: number }[] = []
  readonly snapshots: {
    readonly snapshotId: string
    readonly documentId: string
    readonly observedAt: number
    readonly score: number | null
    readonly metrics: string | null
  }[] = []
  readonly factSets: {
    readonly factSetId: string
    readonly documentId: string
    /** The version of the facts; null for facts about the document. */
    readonly versionId: string | null
    readonly facts: readonly Fact[]
  }[] = []
  readonly events: {
    readonly eventId: string
    readonly type: 'document.created' | 'document.version.created' | 'document.metrics.updated' | 'document.updated'
    readonly datasetId: string
    readonly platform: string
    readonly documentId: string
    readonly versionId: string | null
    readonly changedFields: readonly string[]
    readonly occurredAt: number
    readonly observedAt: number
    readonly ingestedAt: number
    /** Bits of `access/event-fields.ts`, without `moved`. */
    readonly openedBy: number
    readonly now: AccessFields
    /** The fields before the change, if those who could read the document then get the event too. */
    readonly before: AccessFields | null
  }[] = []
}

/** The changeable fields that decide who may read a document. */
export type AccessFields = Pick<KnownDocument, 'language' | 'region' | 'publishedAt'>

export const accessFieldsOf = ({ language, region, publishedAt }: AccessFields): AccessFields => ({
  language,
  region,
  publishedAt,
})

/**
 * One document while a batch is written: the stored state, merged with the incoming documents.
 *
 * Rules: a changed title or body makes a new version, a changed score or metrics a new snapshot, any other change an
 * update. A document without a change writes nothing. Each change is an event, so that a reader of all events can keep
 * an equal copy.
 */
export class DocumentState {
  /** null if the document is new in this batch. */
  readonly before: KnownDocument | null
  document: KnownDocument
  /** The body of the current version if this batch has seen it. undefined means that only its hash is known. */
  #body: string | null | undefined

  private constructor(document: KnownDocument, before: KnownDocument | null) {
    this.document = document
    this.before = before
    this.#body = before === null ? null : undefined
  }

  static stored(document: KnownDocument): DocumentState {
    return new DocumentState(document, document)
  }

  static fresh(documentId: string): DocumentState {
    return new DocumentState({ ...emptyDocument, documentId }, null)
  }

  /** `revise` returns the next index revision. It is called only if the search index needs the change. */
  merge(incoming: IncomingDocument, record: BatchRecord, nowMs: number, revise: () => number): Outcome {
    const first = this.document.versionCount === 0
    const next: KnownDocument = { ...this.document }
    if (first) {
      next.datasetId = incoming.datasetId
      next.platform = incoming.platform
      next.externalId = incoming.externalId
    }
    next.seenAt = incoming.observedAt ?? nowMs
    const changed: string[] = []
    const values = byProperty(next)
    const set = (row: FieldRow, value: unknown, names: string[]): void => {
      if (value === undefined || values[row.property] === value) return
      values[row.property] = value
      names.push(row.name)
    }
    for (const row of updateRows) set(row, keptValue(row, incoming), changed)
    next.externalAuthorId = authorId(incoming.author, next.externalAuthorId)
    set(observation, incoming.observedAt, changed)
    const metricsChanged: string[] = []
    for (const row of snapshotRows) set(row, keptValue(row, incoming), metricsChanged)

    const textChanged = this.#mergeText(incoming, next)
    const newVersion = first || textChanged.length > 0
    if (newVersion) {
      next.currentVersionId = idAfter(this.document.currentVersionId, 'ver', nowMs)
      next.versionCount++
    }
    this.#mergeFacts(incoming.facts, next, newVersion, changed, record, nowMs)
    if (!newVersion && metricsChanged.length === 0 && changed.length === 0) {
      this.document = { ...this.document, seenAt: next.seenAt }
      return 'unchanged'
    }

    // Without a reported time of observation, the time of arrival counts.
    if (incoming.observedAt === undefined) set(observation, nowMs, changed)
    const observedAt = next.observedAt
    const before = byProperty(this.document)
    const isIndexed = indexedRows.some(({ property }) => values[property] !== before[property])
    if (newVersion || isIndexed) next.indexRevision = revise()
    if (!first && changed.includes('language')) {
      if (!newVersion) this.#changeLanguage(next, record)
      record.followed.push({ documentId: next.documentId, indexRevision: next.indexRevision })
    }
    if (newVersion) {
      record.versions.push({
        versionId: next.currentVersionId,
        documentId: next.documentId,
        title: next.title,
        body: this.#body ?? null,
        language: next.language,
        publishedAt: next.publishedAt,
        indexRevision: next.indexRevision,
      })
    }
    if (metricsChanged.length > 0) {
      next.snapshotId = idAfter(this.document.snapshotId, 'snp', nowMs)
      record.snapshots.push({
        snapshotId: next.snapshotId,
        documentId: next.documentId,
        observedAt,
        score: next.score,
        metrics: next.metrics,
      })
    }
    const event = (
      type: BatchRecord['events'][number]['type'],
      versionId: string | null,
      changedFields: readonly string[],
      occurredAt: number,
      openedBy: number,
      before: AccessFields | null = null,
    ): void => {
      record.events.push({
        eventId: newId('evt', nowMs),
        type,
        datasetId: next.datasetId,
        platform: next.platform,
        documentId: next.documentId,
        versionId,
        changedFields,
        occurredAt,
        observedAt,
        ingestedAt: nowMs,
        openedBy,
        now: accessFieldsOf(next),
        before,
      })
    }
    const visible = changed.filter((name) => namedInVersions.has(name))
    if (first) {
      const fields = [...textChanged, ...visible, ...metricsChanged]
      event('document.created', next.currentVersionId, fields, next.publishedAt ?? observedAt, openedBy.anyone)
    } else {
      if (newVersion) {
        const fields = [...textChanged, ...visible]
        // Every reader gets the event, because every reader sees the current version ID.
        event('document.version.created', next.currentVersionId, fields, observedAt, openedBy.anyone)
      }
      const shown = this.#shownFields(changed, next)
      const others = shown.filter((field) => field !== 'observed_at')
      // Every event has the time of observation. A new time alone is an event only for readers who get no other one.
      const isObserved = others.length < shown.length && !newVersion
      const isUpdate = others.length > 0 || (isObserved && metricsChanged.length === 0)
      const seen = !isObserved ? 0 : metricsChanged.length > 0 ? openedBy.withoutMetrics : openedBy.anyone
      if (metricsChanged.length > 0) {
        const bits = bitsThatOpen(metricsChanged) | (isUpdate ? 0 : seen)
        event('document.metrics.updated', null, metricsChanged, observedAt, bits)
      }
      if (isUpdate) {
        event('document.updated', null, shown, observedAt, bitsThatOpen(others) | seen, this.#accessFieldsBefore(next))
      }
    }
    this.document = next
    if (first) return 'created'
    return newVersion ? 'version_created' : metricsChanged.length > 0 ? 'metrics_updated' : 'updated'
  }

  /** Whether the next document can be merged only with the stored body: its title changes and its body was not sent. */
  needsBody(incoming: IncomingDocument): boolean {
    return (
      this.#body === undefined &&
      incoming.body === undefined &&
      incoming.title !== undefined &&
      incoming.title !== this.document.title
    )
  }

  setBody(body: string | null): void {
    this.#body = body
  }

  /** Returns which of title and body changed. One that was not sent stays as it is. */
  #mergeText(incoming: IncomingDocument, next: KnownDocument): string[] {
    const changed: string[] = []
    if (incoming.title !== undefined && incoming.title !== next.title) {
      next.title = incoming.title
      changed.push('title')
    }
    if (incoming.body !== undefined) {
      const bodyHash = incoming.body === null ? null : hash('sha256', incoming.body, 'base64url')
      if (bodyHash !== next.bodyHash) {
        next.bodyHash = bodyHash
        changed.push('body')
      }
      this.#body = incoming.body
    }
    return changed
  }

  /** Returns the changed fields that consumers see in the document, by their names there. */
  #shownFields(changed: readonly string[], next: KnownDocument): string[] {
    const shown: string[] = changed.filter((name) => namedInUpdates.has(name))
    if (next.classifications !== this.document.classifications) shown.push('classifications')
    return shown
  }

  /** Returns null if the same readers may read it as before. */
  #accessFieldsBefore(next: KnownDocument): AccessFields | null {
    const { language, region, publishedAt } = this.document
    const isSame = next.language === language && next.region === region && next.publishedAt === publishedAt
    return isSame ? null : { language, region, publishedAt }
  }

  #changeLanguage({ currentVersionId: versionId, language, indexRevision }: KnownDocument, record: BatchRecord): void {
    const ofThisBatch = record.versions.find((version) => version.versionId === versionId)
    if (ofThisBatch === undefined) record.languageFixes.push({ versionId, language, indexRevision })
    else Object.assign(ofThisBatch, { language, indexRevision })
  }

  #mergeFacts(
    facts: readonly Fact[] | null | undefined,
    next: KnownDocument,
    newVersion: boolean,
    changed: string[],
    record: BatchRecord,
    nowMs: number,
  ): void {
    const stored = parseFacts(next.facts)
    // Facts about a version end with it. Facts about the document stay.
    const kept = newVersion ? stored.filter((fact) => fact.level === 'document') : stored
    const current = facts === undefined ? kept : (facts ?? [])
    const json = current.length === 0 ? null : JSON.stringify(current)
    const same = json === next.facts
    if (!same) {
      next.facts = json
      next.classifications = codesOf(current)
      changed.push('facts')
    }
    if (facts === undefined) return
    for (const level of ['document', 'version'] as const) {
      const ofLevel = current.filter((fact) => fact.level === level)
      // The same facts sent with a new version are facts of that version.
      if (same && (level === 'document' || !newVersion || ofLevel.length === 0)) continue
      if (ofLevel.length === 0 && !stored.some((fact) => fact.level === level)) continue
      record.factSets.push({
        factSetId: newId('fct', nowMs),
        documentId: next.documentId,
        versionId: level === 'version' ? next.currentVersionId : null,
        facts: ofLevel,
      })
    }
  }
}

/** The same document, for loops over the table of fields. */
const byProperty = (document: object): Record<string, unknown> => document as Record<string, unknown>

const rowsThat = (change: FieldRow['change']): readonly FieldRow[] => fieldRows.filter((row) => row.change === change)
const updateRows = rowsThat('update')
const snapshotRows = rowsThat('snapshot')
const observation = rowsThat('observation')[0]!

/** All fields that can change, in the order in which events name them. */
const changingRows = [...rowsThat('version'), ...updateRows, ...rowsThat('facts'), observation, ...snapshotRows]

const namesIn = (events: NonNullable<FieldRow['namedIn']>): ReadonlySet<string> =>
  new Set(fieldRows.filter(({ namedIn = events }) => namedIn === events).map(({ name }) => name))
const namedInVersions = namesIn('versions')
/** Fields of the document that consumers read. */
const namedInUpdates = namesIn('updates')

/** Returns the fields that a new document has, as its event names them. */
export function fieldsOfNew(document: KnownDocument): string[] {
  // Only the hash of the body is known here.
  const has = ({ name, property }: FieldRow): boolean => {
    const kept = name === 'body' ? 'bodyHash' : property
    return byProperty(document)[kept] !== byProperty(emptyDocument)[kept]
  }
  return changingRows.filter((row) => namedInVersions.has(row.name) && has(row)).map(({ name }) => name)
}

/** Columns that scopes and searches read. The search index needs every change of them. */
const indexedRows = documentColumns.filter(({ indexed }) => indexed !== undefined)

const emptyDocument = Object.fromEntries(
  documentColumns.map((row) => [row.property, emptyValue(row)]),
) as unknown as Omit<KnownDocument, 'documentId'>

function emptyValue({ required, kind }: FieldRow): string | number | null {
  if (!required) return null
  if (kind === 'status') return documentStatuses[0]
  return kind === 'text' ? '' : 0
}

/** Returns a value that was sent, in its stored form. */
function keptValue(row: FieldRow, incoming: IncomingDocument): unknown {
  const value = byProperty(incoming)[row.property]
  // Metrics are compared by content, so their names are sorted. Other objects keep their order.
  return isJson(row) ? asJson(value as object | null | undefined, row.kind === 'numbers') : value
}

/**
 * Versions and snapshots are listed by ID, newest first, so IDs ascend even if the clock was set back or another
 * process wrote.
 */
function idAfter(last: string | null, prefix: IdPrefix, nowMs: number): string {
  const id = newId(prefix, nowMs)
  return last === null || last < id ? id : newId(prefix, idTimeMs(last) + 1)
}

/** Returns null for an empty object. */
function asJson(value: object | null | undefined, sorted = false): string | null | undefined {
  if (value === undefined) return undefined
  if (value === null || Object.keys(value).length === 0) return null
  return JSON.stringify(sorted ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value)
}

function authorId(author: IncomingDocument['author'], before: string | null): string | null {
  if (author === undefined) return before
  return typeof author?.external_author_id === 'string' ? author.external_author_id : null
}

const parseFacts = (json: string | null): readonly Fact[] => (json === null ? [] : JSON.parse(json))

const classificationCode = /^[^\p{Cs}\p{Cc}]{1,256}$/u

function codesOf(facts: readonly Fact[]): string | null {
  const codes = new Set<string>()
  for (const { kind, metadata } of facts) {
    const code = kind === 'category' ? metadata.label_code : null
    // Some stores cannot hold such a code as a key, so it stays in the fact and is not searchable.
    if (typeof code === 'string' && classificationCode.test(code)) codes.add(code)
  }
  return codes.size === 0 ? null : JSON.stringify([...codes])
}
