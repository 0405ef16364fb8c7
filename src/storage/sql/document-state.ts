import { hash } from 'node:crypto'
import type { Insertable } from 'kysely'
import { type IdPrefix, idTimeMs, newId } from '../../ids.ts'
import type { DocumentStatus, Fact, IncomingDocument, Outcome } from '../../ingest/content-store.ts'
import type { DocumentRow, DocumentTermRow, DocumentVersionRow, EventRow, FactSetRow, SnapshotRow } from './tables.ts'

export const termKinds = { topic: 1, tag: 2, classification: 3 } as const

/** Rows that only ever are added, in the order in which they came about. */
export interface Written {
  versions: DocumentVersionRow[]
  /** Stored versions whose text is in another language than was thought: their words must be read anew. */
  languages: Pick<DocumentVersionRow, 'version_id' | 'language' | 'index_revision'>[]
  /** Documents whose language changed: their versions without one of their own are readable by it, so they follow. */
  followed: Pick<DocumentRow, 'document_id' | 'index_revision'>[]
  snapshots: SnapshotRow[]
  factSets: FactSetRow[]
  events: Insertable<EventRow>[]
}

/**
 * One document while a batch is written: what is stored, and what the incoming documents make of it.
 *
 * Rules: a changed title or body is a new version; a changed score or metrics is a new snapshot; anything else that
 * changed is an update. What changed nothing writes nothing. Only the first two are events.
 */
export class DocumentState {
  readonly isNew: boolean
  row: DocumentRow
  #before: DocumentRow | null
  /** The body of the current version where this batch has seen it; undefined = only its hash is known. */
  #body: string | null | undefined

  private constructor(row: DocumentRow, isNew: boolean) {
    this.row = row
    this.isNew = isNew
    this.#before = isNew ? null : row
    this.#body = isNew ? null : undefined
  }

  static stored(row: DocumentRow): DocumentState {
    return new DocumentState(row, false)
  }

  static fresh(documentId: string): DocumentState {
    return new DocumentState({ ...emptyRow, document_id: documentId }, true)
  }

  /** `revise` gives the next index revision; it is asked only when the search index must learn of the change. */
  merge(incoming: IncomingDocument, written: Written, nowMs: number, revise: () => number): Outcome {
    const first = this.row.version_count === 0
    const next: DocumentRow = first
      ? {
          ...this.row,
          dataset_id: incoming.datasetId,
          source_platform: incoming.platform,
          external_id: incoming.externalId,
        }
      : { ...this.row }
    const changed: string[] = []
    const set = <K extends keyof DocumentRow>(field: string, column: K, value: DocumentRow[K] | undefined): void => {
      if (value === undefined || next[column] === value) return
      next[column] = value
      changed.push(field)
    }

    set('url', 'url', incoming.url)
    set('content_type', 'content_type', incoming.contentType)
    set('language', 'language', incoming.language)
    set('region', 'region', incoming.region)
    set('status', 'status', incoming.status)
    set('published_at', 'published_at', incoming.publishedAt)
    set('author', 'author', asJson(incoming.author))
    next.external_author_id = authorId(incoming.author, next.external_author_id)
    set('topics', 'topics', asJson(incoming.topics))
    set('tags', 'tags', asJson(incoming.tags))
    set('quality', 'quality', incoming.quality)
    set('extra_payload', 'extra_payload', asJson(incoming.extraPayload))
    set('observed_at', 'observed_at', incoming.observedAt)

    const metricsChanged: string[] = []
    const setMetric = <K extends 'score' | 'metrics'>(column: K, value: DocumentRow[K] | undefined): void => {
      if (value === undefined || next[column] === value) return
      next[column] = value
      metricsChanged.push(column)
    }
    setMetric('score', incoming.score)
    setMetric('metrics', asJson(incoming.metrics, true))

    const textChanged = this.#mergeText(incoming, next)
    const newVersion = first || textChanged.length > 0
    if (newVersion) {
      next.current_version_id = idAfter(this.row.current_version_id, 'ver', nowMs)
      next.version_count++
    }
    this.#mergeFacts(incoming.facts, next, newVersion, changed, written, nowMs)
    if (!newVersion && metricsChanged.length === 0 && changed.length === 0) return 'unchanged'

    // Where the collector does not say when it saw this, it is when it arrived; a repetition alone is no observation.
    if (incoming.observedAt === undefined) set('observed_at', 'observed_at', nowMs)
    const observedAt = next.observed_at
    next.updated_at = nowMs
    if (newVersion || changed.some((field) => indexedFields.has(field))) next.index_revision = revise()
    if (!first && changed.includes('language')) {
      if (!newVersion) this.#changeLanguage(next, written)
      written.followed.push({ document_id: next.document_id, index_revision: next.index_revision })
    }
    if (newVersion) {
      written.versions.push({
        version_id: next.current_version_id,
        document_id: next.document_id,
        title: next.title,
        body: this.#body ?? null,
        language: next.language,
        published_at: next.published_at,
        index_revision: next.index_revision,
      })
    }
    if (metricsChanged.length > 0) {
      next.snapshot_id = idAfter(this.row.snapshot_id, 'snp', nowMs)
      written.snapshots.push({
        snapshot_id: next.snapshot_id,
        document_id: next.document_id,
        observed_at: observedAt,
        score: next.score,
        metrics: next.metrics,
      })
    }
    const event = (type: string, versionId: string | null, fields: readonly string[], occurredAt: number): void => {
      written.events.push({
        event_id: newId('evt', nowMs),
        event_type: type,
        dataset_id: next.dataset_id,
        source_platform: next.source_platform,
        document_id: next.document_id,
        version_id: versionId,
        changed_fields: JSON.stringify(fields),
        occurred_at: occurredAt,
        observed_at: observedAt,
        ingested_at: nowMs,
      })
    }
    const visible = changed.filter((field) => field !== 'extra_payload')
    if (first) {
      const fields = [...textChanged, ...visible, ...metricsChanged]
      event('document.created', next.current_version_id, fields, next.published_at ?? observedAt)
    } else {
      if (newVersion)
        event('document.version.created', next.current_version_id, [...textChanged, ...visible], observedAt)
      if (metricsChanged.length > 0) event('document.metrics.updated', null, metricsChanged, observedAt)
    }
    this.row = next
    if (first) return 'created'
    return newVersion ? 'version_created' : metricsChanged.length > 0 ? 'metrics_updated' : 'updated'
  }

  termsAdded(): DocumentTermRow[] {
    const before = new Set(this.#before === null ? [] : termsOf(this.#before).map(termKey))
    return termsOf(this.row).filter((term) => !before.has(termKey(term)))
  }

  termsRemoved(): DocumentTermRow[] {
    const after = new Set(termsOf(this.row).map(termKey))
    return this.#before === null ? [] : termsOf(this.#before).filter((term) => !after.has(termKey(term)))
  }

  /** Whether the next document can only be merged when the stored body is known: its title changes, its body is not sent. */
  needsBody(incoming: IncomingDocument): boolean {
    return (
      this.#body === undefined &&
      incoming.body === undefined &&
      incoming.title !== undefined &&
      incoming.title !== this.row.title
    )
  }

  knowBody(body: string | null): void {
    this.#body = body
  }

  /** Which of title and body changed. A title that is sent alone leaves the body as it is, and the other way round. */
  #mergeText(incoming: IncomingDocument, next: DocumentRow): string[] {
    const changed: string[] = []
    if (incoming.title !== undefined && incoming.title !== next.title) {
      next.title = incoming.title
      changed.push('title')
    }
    if (incoming.body !== undefined) {
      const bodyHash = incoming.body === null ? null : hash('sha256', incoming.body, 'base64url')
      if (bodyHash !== next.body_hash) {
        next.body_hash = bodyHash
        changed.push('body')
      }
      this.#body = incoming.body
    }
    return changed
  }

  #changeLanguage({ current_version_id: version_id, language, index_revision }: DocumentRow, written: Written): void {
    const ofThisBatch = written.versions.find((version) => version.version_id === version_id)
    if (ofThisBatch === undefined) written.languages.push({ version_id, language, index_revision })
    else Object.assign(ofThisBatch, { language, index_revision })
  }

  #mergeFacts(
    facts: readonly Fact[] | null | undefined,
    next: DocumentRow,
    newVersion: boolean,
    changed: string[],
    written: Written,
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
      changed.push('facts')
    }
    if (facts === undefined) return
    for (const level of ['document', 'version'] as const) {
      const ofLevel = current.filter((fact) => fact.level === level)
      // The same facts said of a new version are facts of that version.
      if (same && (level === 'document' || !newVersion || ofLevel.length === 0)) continue
      if (ofLevel.length === 0 && !stored.some((fact) => fact.level === level)) continue
      written.factSets.push({
        fact_set_id: newId('fct', nowMs),
        document_id: next.document_id,
        version_id: level === 'version' ? next.current_version_id : null,
        facts: JSON.stringify(ofLevel),
      })
    }
  }
}

export const statusOf = (row: Pick<DocumentRow, 'status'>): DocumentStatus =>
  row.status === 'unavailable' ? 'unavailable' : 'active'

/** What scopes and search filters look at. */
const indexedFields = new Set(['language', 'region', 'published_at', 'content_type', 'status'])

const emptyRow: Omit<DocumentRow, 'document_id'> = {
  dataset_id: '',
  source_platform: '',
  external_id: '',
  url: null,
  content_type: null,
  language: null,
  region: null,
  status: 'active',
  published_at: null,
  observed_at: 0,
  updated_at: 0,
  title: null,
  external_author_id: null,
  author: null,
  topics: null,
  tags: null,
  facts: null,
  classifications: null,
  score: null,
  metrics: null,
  snapshot_id: null,
  quality: null,
  extra_payload: null,
  body_hash: null,
  current_version_id: '',
  version_count: 0,
  index_revision: 0,
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

function termsOf(row: DocumentRow): DocumentTermRow[] {
  const { dataset_id, document_id } = row
  const terms: DocumentTermRow[] = []
  const add = (kind: number, json: string | null): void => {
    if (json === null) return
    for (const value of JSON.parse(json) as string[]) terms.push({ kind, value, dataset_id, document_id })
  }
  add(termKinds.topic, row.topics)
  add(termKinds.tag, row.tags)
  add(termKinds.classification, row.classifications)
  return terms
}

const termKey = (term: DocumentTermRow): string => `${term.kind} ${term.value}`
