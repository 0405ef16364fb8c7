import { hash } from 'node:crypto'
import { type IdPrefix, idTimeMs, newId } from '../ids.ts'
import type { DocumentStatus, Fact, IncomingDocument, Outcome } from './content-store.ts'

/** A document as it is known. Lists and objects are JSON texts, null where they are empty: so they are compared. */
export interface KnownDocument {
  documentId: string
  datasetId: string
  platform: string
  externalId: string
  url: string | null
  contentType: string | null
  language: string | null
  region: string | null
  status: DocumentStatus
  publishedAt: number | null
  observedAt: number
  updatedAt: number
  title: string | null
  externalAuthorId: string | null
  author: string | null
  topics: string | null
  tags: string | null
  facts: string | null
  /** Codes of the current category facts, document and version level together. */
  classifications: string | null
  score: number | null
  metrics: string | null
  /** The latest snapshot. */
  snapshotId: string | null
  quality: number | null
  extraPayload: string | null
  /** Tells a changed body from a repetition without reading the old text. */
  bodyHash: string | null
  currentVersionId: string
  versionCount: number
  /** Rises over the whole instance with every change that the search index must learn of. */
  indexRevision: number
}

/** What a batch adds beside the documents themselves, in the order in which it came about. */
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
  /** Stored versions whose text is in another language than was thought: their words must be read anew. */
  readonly relabelled: {
    readonly versionId: string
    readonly language: string | null
    readonly indexRevision: number
  }[] = []
  /** Documents whose language changed: their versions without one of their own are readable by it, so they follow. */
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
    /** The version the facts are about; null for facts about the document. */
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
  }[] = []
}

/**
 * One document while a batch is written: what is stored, and what the incoming documents make of it.
 *
 * Rules: a changed title or body is a new version; a changed score or metrics is a new snapshot; anything else that
 * changed is an update. What changed nothing writes nothing. Each is an event, so that whoever hears of all of them can
 * keep a copy that is equal.
 */
export class DocumentState {
  /** null where the batch brings it. */
  readonly before: KnownDocument | null
  document: KnownDocument
  /** The body of the current version where this batch has seen it; undefined = only its hash is known. */
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

  /** `revise` gives the next index revision; it is asked only when the search index must learn of the change. */
  merge(incoming: IncomingDocument, record: BatchRecord, nowMs: number, revise: () => number): Outcome {
    const first = this.document.versionCount === 0
    const next: KnownDocument = { ...this.document }
    if (first) {
      next.datasetId = incoming.datasetId
      next.platform = incoming.platform
      next.externalId = incoming.externalId
    }
    const changed: string[] = []
    const set = <K extends NamedField>(name: K, value: KnownDocument[K] | undefined): void => {
      if (value === undefined || next[name] === value) return
      next[name] = value
      changed.push(fieldNames[name])
    }

    set('url', incoming.url)
    set('contentType', incoming.contentType)
    set('language', incoming.language)
    set('region', incoming.region)
    set('status', incoming.status)
    set('publishedAt', incoming.publishedAt)
    set('author', asJson(incoming.author))
    next.externalAuthorId = authorId(incoming.author, next.externalAuthorId)
    set('topics', asJson(incoming.topics))
    set('tags', asJson(incoming.tags))
    set('quality', incoming.quality)
    set('extraPayload', asJson(incoming.extraPayload))
    set('observedAt', incoming.observedAt)

    const metricsChanged: string[] = []
    const setMetric = <K extends 'score' | 'metrics'>(name: K, value: KnownDocument[K] | undefined): void => {
      if (value === undefined || next[name] === value) return
      next[name] = value
      metricsChanged.push(fieldNames[name])
    }
    setMetric('score', incoming.score)
    setMetric('metrics', asJson(incoming.metrics, true))

    const textChanged = this.#mergeText(incoming, next)
    const newVersion = first || textChanged.length > 0
    if (newVersion) {
      next.currentVersionId = idAfter(this.document.currentVersionId, 'ver', nowMs)
      next.versionCount++
    }
    this.#mergeFacts(incoming.facts, next, newVersion, changed, record, nowMs)
    if (!newVersion && metricsChanged.length === 0 && changed.length === 0) return 'unchanged'

    // Where the collector does not say when it saw this, it is when it arrived; a repetition alone is no observation.
    if (incoming.observedAt === undefined) set('observedAt', nowMs)
    const observedAt = next.observedAt
    next.updatedAt = nowMs
    if (newVersion || indexedFields.some((field) => next[field] !== this.document[field])) next.indexRevision = revise()
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
      })
    }
    const visible = changed.filter(isTold)
    if (first) {
      const fields = [...textChanged, ...visible, ...metricsChanged]
      event('document.created', next.currentVersionId, fields, next.publishedAt ?? observedAt)
    } else {
      if (newVersion) event('document.version.created', next.currentVersionId, [...textChanged, ...visible], observedAt)
      if (metricsChanged.length > 0) event('document.metrics.updated', null, metricsChanged, observedAt)
      const shown = this.#shownFields(changed, next)
      // When it was seen is told by every event: alone it is an event only where there is no other.
      const isToldAlready = shown.every((field) => field === 'observed_at') && (newVersion || metricsChanged.length > 0)
      if (shown.length > 0 && !isToldAlready) event('document.updated', null, shown, observedAt)
    }
    this.document = next
    if (first) return 'created'
    return newVersion ? 'version_created' : metricsChanged.length > 0 ? 'metrics_updated' : 'updated'
  }

  /** Whether the next document can only be merged when the stored body is known: its title changes, its body is not sent. */
  needsBody(incoming: IncomingDocument): boolean {
    return (
      this.#body === undefined &&
      incoming.body === undefined &&
      incoming.title !== undefined &&
      incoming.title !== this.document.title
    )
  }

  knowBody(body: string | null): void {
    this.#body = body
  }

  /** Which of title and body changed. A title that is sent alone leaves the body as it is, and the other way round. */
  #mergeText(incoming: IncomingDocument, next: KnownDocument): string[] {
    const changed: string[] = []
    if (incoming.title !== undefined && incoming.title !== next.title) {
      next.title = incoming.title
      changed.push(fieldNames.title)
    }
    if (incoming.body !== undefined) {
      const bodyHash = incoming.body === null ? null : hash('sha256', incoming.body, 'base64url')
      if (bodyHash !== next.bodyHash) {
        next.bodyHash = bodyHash
        changed.push(fieldNames.bodyHash)
      }
      this.#body = incoming.body
    }
    return changed
  }

  /** What of it consumers see in the document, by the names that it has there. */
  #shownFields(changed: readonly string[], next: KnownDocument): string[] {
    const shown: string[] = changed.filter((field) => !unshownFields.has(field))
    if (next.classifications !== this.document.classifications) shown.push('classifications')
    return shown
  }

  #changeLanguage({ currentVersionId: versionId, language, indexRevision }: KnownDocument, record: BatchRecord): void {
    const ofThisBatch = record.versions.find((version) => version.versionId === versionId)
    if (ofThisBatch === undefined) record.relabelled.push({ versionId, language, indexRevision })
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
    // Facts about a version end with it; facts about the document stay.
    const kept = newVersion ? stored.filter((fact) => fact.level === 'document') : stored
    const current = facts === undefined ? kept : (facts ?? [])
    const json = current.length === 0 ? null : JSON.stringify(current)
    const same = json === next.facts
    if (!same) {
      next.facts = json
      next.classifications = codesOf(current)
      changed.push(fieldNames.facts)
    }
    if (facts === undefined) return
    for (const level of ['document', 'version'] as const) {
      const ofLevel = current.filter((fact) => fact.level === level)
      // The same facts said of a new version are facts of that version.
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

/** What can change, by the names that events have for it. */
const fieldNames = {
  title: 'title',
  bodyHash: 'body',
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
  facts: 'facts',
  observedAt: 'observed_at',
  score: 'score',
  metrics: 'metrics',
} as const satisfies Partial<Record<keyof KnownDocument, string>>

type NamedField = keyof typeof fieldNames

/** All that a document has, as the event names it that tells of a new one. */
export const fieldsOfNew = (document: KnownDocument): string[] =>
  (Object.keys(fieldNames) as NamedField[])
    .filter((name) => document[name] !== emptyDocument[name])
    .map((name) => fieldNames[name])
    .filter(isTold)

/** Nobody reads it. */
const isTold = (field: string): boolean => field !== fieldNames.extraPayload

/** Changed fields that are no field of the document that consumers read; of facts they see the codes alone. */
const unshownFields: ReadonlySet<string> = new Set(['quality', 'extra_payload', 'facts'])

/** What scopes and searches look at: the search index must learn of every change of it. */
const indexedFields = [
  'language',
  'region',
  'publishedAt',
  'contentType',
  'status',
  'externalAuthorId',
  'topics',
  'tags',
  'classifications',
  'score',
] as const satisfies readonly (keyof KnownDocument)[]

const emptyDocument: Omit<KnownDocument, 'documentId'> = {
  datasetId: '',
  platform: '',
  externalId: '',
  url: null,
  contentType: null,
  language: null,
  region: null,
  status: 'active',
  publishedAt: null,
  observedAt: 0,
  updatedAt: 0,
  title: null,
  externalAuthorId: null,
  author: null,
  topics: null,
  tags: null,
  facts: null,
  classifications: null,
  score: null,
  metrics: null,
  snapshotId: null,
  quality: null,
  extraPayload: null,
  bodyHash: null,
  currentVersionId: '',
  versionCount: 0,
  indexRevision: 0,
}

/** Versions and snapshots are listed by id, newest first, also where the clock was set back or another process wrote. */
function idAfter(last: string | null, prefix: IdPrefix, nowMs: number): string {
  const id = newId(prefix, nowMs)
  return last === null || last < id ? id : newId(prefix, idTimeMs(last) + 1)
}

/** Metrics are compared by content, so their names are put in order; other objects are kept as they came. */
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
    // A code that not every store can hold as a key stays a fact and matches nothing.
    if (typeof code === 'string' && classificationCode.test(code)) codes.add(code)
  }
  return codes.size === 0 ? null : JSON.stringify([...codes])
}
