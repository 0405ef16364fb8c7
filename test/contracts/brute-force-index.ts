import { hash } from 'node:crypto'
import { type FieldPermission, readableFields, type Scope } from '../../src/access/scope.ts'
import type { Conditions, NumberRange } from '../../src/document/field-types.ts'
import type {
  ApplyOutcome,
  DocumentColumns,
  IndexBatch,
  IndexChange,
  IndexHealth,
  SearchIndex,
  WithoutVectorOutcome,
  WithoutVectorRequest,
} from '../../src/indexing/fed-index.ts'
import { changesOf } from '../../src/indexing/read-packed.ts'
import type { Facet, ValueCount } from '../../src/search/facets.ts'
import {
  type CatalogColumns,
  type ChunkScore,
  type DocumentHit,
  type IndexedColumns,
  type KeywordOrder,
  type KeywordOutcome,
  type KeywordPosition,
  type KeywordRequest,
  noFilters,
  type ScoreOutcome,
  type ScoreRequest,
  type SearchFilters,
  type SimilarWordsOutcome,
  type SimilarWordsRequest,
  type TypedWord,
  type ValuesOutcome,
  type ValuesRequest,
  type VectorOutcome,
  type VectorRequest,
} from '../../src/search/search-index.ts'
import type { AnalysedField, Clause, KeywordQuery, TermExpansion, TermGroup } from '../../src/text/types.ts'
import { documentFields, emptyValues } from '../support/document-fields.ts'

interface StoredChunk {
  readonly documentId: string
  readonly versionId: string
  readonly chunkId: string
  readonly columns: IndexedColumns
  readonly current: boolean
  /** Whether the chunk is the first of its version. */
  readonly first: boolean
  readonly title: AnalysedField
  readonly body: AnalysedField
  readonly vectors: Map<string, number[]>
}

interface VisibleChunk extends StoredChunk {
  readonly titleVisible: boolean
  readonly bodyVisible: boolean
  /** The length of the visible fields. */
  readonly length: number
}

/** Everything that a scope may search. Frequencies and lengths are computed over this set only. */
type Population = readonly VisibleChunk[]

/** Not imported from text/bm25.ts, so that adapters are compared with an independent definition. */
const k1 = 1.2
const b = 0.75

/**
 * The semantics of the port, written as plainly as possible: every search looks at every chunk. Adapters are compared
 * with it. It passes the contract suite itself, so that the suite requires nothing that only one adapter can do.
 */
export class BruteForceIndex implements SearchIndex {
  readonly isSound = true
  readonly #titleWeight: number
  #chunks: StoredChunk[] = []
  #position = 0
  /**
   * The populations of the scores of pages with a next page, each under the number in the statistics of the page.
   */
  readonly #populations = new Map<number, Population>()
  readonly #dimensions = new Map<string, number>()

  constructor(titleWeight = 3) {
    this.#titleWeight = titleWeight
  }

  async apply({ position, changes }: IndexBatch): Promise<ApplyOutcome> {
    if (position !== null && position <= this.#position) return { outcome: 'applied' }
    for (const change of changesOf(changes)) this.#change(change)
    this.#position = position ?? this.#position
    return { outcome: 'applied' }
  }

  async keyword(request: KeywordRequest): Promise<KeywordOutcome> {
    if (request.timeoutMs <= 0) return { outcome: 'timed_out' }
    const opened = this.#population(request.scope)
    const population = this.#populations.get(request.statistics?.[0] ?? -1) ?? opened
    const { after, conditions, facets, order = 'relevance' } = request
    const met = countedIn(opened)
    const counted = this.#granted(request.scope)
    const matches = this.#visible(request)
      .map((chunk) => ({ ...chunk, score: this.#keywordScore(request.query, chunk, population) }))
      .filter(({ score }) => score > 0)
      .filter((chunk) => conditions === undefined || meets(conditions, met(chunk)))
    const matchOf = ({ chunkId }: DocumentHit) => matches.find((chunk) => chunk.chunkId === chunkId)!
    const keyOf = (hit: DocumentHit): number | null => {
      if (order === 'relevance') return hit.score
      return order === '-score' ? counted(matchOf(hit)).score : counted(matchOf(hit)).publishedAt
    }
    const explained = (hit: DocumentHit): DocumentHit =>
      request.explain ? { ...hit, parts: this.#keywordParts(request.query, matchOf(hit), population) } : hit
    const ranked = byDocument(matches, request.otherChunksMax)
      .map((hit) => ({ hit: explained(hit), key: keyOf(hit), documentId: hit.documentId }))
      .sort((a, b) => comparePositions(order, a, b))
    const rest = after === null ? ranked : ranked.filter((one) => comparePositions(order, one, after) > 0)
    const page = rest.slice(0, request.limit)
    const last = page.at(-1)
    const next = rest.length > page.length && last ? { key: last.key, documentId: last.documentId } : null
    return {
      outcome: 'found',
      hits: page.map(({ hit }) => hit),
      totalChunks: matches.length,
      next,
      ...(next === null ? {} : { statistics: [this.#keep(population)] }),
      ...(facets === undefined
        ? {}
        : {
            facets: facets.of.map((facet) =>
              countFacet(
                facet,
                ranked.map(({ hit }) => counted(matchOf(hit))),
                facets.limit,
              ),
            ),
          }),
    }
  }

  async values({ scope, field, prefix, after, limit, timeoutMs }: ValuesRequest): Promise<ValuesOutcome> {
    if (timeoutMs <= 0) return { outcome: 'timed_out' }
    const visible = this.#chunks.filter(({ current, columns }) => current && readableFields(scope, columns) !== null)
    const documents = new Map(visible.map(({ documentId, columns }) => [documentId, columns]))
    const found = countFacet(field, [...documents.values()], Infinity)
      .filter(({ value }) => value.startsWith(prefix) && (after === null || compareTexts(value, after) > 0))
      .sort((a, b) => compareTexts(a.value, b.value))
    const values = found.slice(0, limit)
    return { outcome: 'found', values, next: found.length > limit ? values.at(-1)!.value : null }
  }

  async vector(request: VectorRequest): Promise<VectorOutcome> {
    if (request.timeoutMs <= 0) return { outcome: 'timed_out' }
    const readable = this.#visible(request).filter(({ bodyVisible }) => bodyVisible)
    const withWords = readable.filter(({ body }) => body.terms.length > 0)
    const missing = withWords.filter(({ vectors }) => !vectors.has(request.profileId))
    const compared = readable
      .filter((chunk) => chunk.vectors.get(request.profileId)?.length === request.vector.length)
      .map((chunk) => ({ ...chunk, score: cosine(chunk.vectors.get(request.profileId)!, request.vector) }))
      .filter(({ score }) => Number.isFinite(score))
    const top = compared.sort(compareHits).slice(0, request.topK)
    const vectorsPending = missing.length > withWords.length / 100
    return { outcome: 'found', hits: byDocument(top, Infinity), vectorsPending }
  }

  async similarWords(request: SimilarWordsRequest): Promise<SimilarWordsOutcome> {
    if (request.timeoutMs <= 0) return { outcome: 'timed_out' }
    const { conditions } = request
    const counted = countedIn(this.#population(request.scope))
    const visible = this.#visible(request).filter(
      (chunk) => conditions === undefined || meets(conditions, counted(chunk)),
    )
    const fieldsOf = ({ title, body, titleVisible, bodyVisible }: VisibleChunk) => [
      ...(titleVisible ? [title] : []),
      ...(bodyVisible ? [body] : []),
    ]
    const termsOf = (chunk: VisibleChunk) => fieldsOf(chunk).flatMap(({ terms }) => terms)
    const allTerms = new Set(visible.flatMap(termsOf))
    const similarTo = ({ word, group, isPrefix, editsMax, unlessFound }: TypedWord) => {
      const isFound =
        group.some((term) => allTerms.has(term)) ||
        (isPrefix && [...allTerms].some((term) => unmarked(term).startsWith(word)))
      if (isFound && unlessFound) return { isFound, similar: [] }
      const known = new Set([...group, ...request.excluded])
      const inChunk = visible
        .filter((chunk) => !termsOf(chunk).some((term) => known.has(term)))
        .map((chunk) => new Set(fieldsOf(chunk).flatMap(wordsOf)))
      const similar = [...new Set(inChunk.flatMap((words) => [...words]))]
        .map((other) => ({ word: other, edits: typingErrors(word, other, isPrefix) }))
        .filter(({ edits }) => edits > 0 && edits <= editsMax)
      const chunks = (other: string) => inChunk.filter((words) => words.has(other)).length
      similar.sort((a, b) => a.edits - b.edits || chunks(b.word) - chunks(a.word) || (a.word < b.word ? -1 : 1))
      return { isFound, similar: similar.slice(0, request.limit) }
    }
    return { outcome: 'found', words: request.words.map(similarTo) }
  }

  async score(request: ScoreRequest): Promise<ScoreOutcome> {
    if (request.timeoutMs <= 0) return { outcome: 'timed_out' }
    const visible = this.#visible(request)
    const near = request.vectors.map((query) => ({
      ...query,
      visible: this.#visible({ ...request, filters: query.filters }),
    }))
    const population = this.#population(request.scope)
    const best = (scored: (StoredChunk & { score: number; parts?: number[] })[]): ChunkScore | null => {
      const [first] = scored.sort(compareHits)
      if (first === undefined) return null
      const { chunkId, versionId, score, parts } = first
      return { chunkId, versionId, score, ...(parts === undefined ? {} : { parts }) }
    }
    const scores = request.documentIds.map((documentId) => {
      const chunksOf = (all: typeof visible) => all.filter((chunk) => chunk.documentId === documentId)
      const { query, explain = [] } = request
      return {
        documentId,
        keyword: best(
          chunksOf(visible)
            .map((chunk) => ({
              ...chunk,
              score: query === null ? 0 : this.#keywordScore(query, chunk, population),
              ...(query !== null && explain.includes(documentId)
                ? { parts: this.#keywordParts(query, chunk, population) }
                : {}),
            }))
            .filter(({ score }) => score > 0),
        ),
        vectors: near.map(({ profileId, vector, visible }) =>
          best(
            chunksOf(visible)
              .filter((chunk) => chunk.bodyVisible && chunk.vectors.get(profileId))
              .map((chunk) => ({ ...chunk, score: cosine(chunk.vectors.get(profileId)!, vector) }))
              .filter(({ score }) => Number.isFinite(score)),
          ),
        ),
      }
    })
    return { outcome: 'found', scores }
  }

  async withoutVector({ profileId, languages, after, limit }: WithoutVectorRequest): Promise<WithoutVectorOutcome> {
    const missing = this.#chunks
      .filter(({ vectors }) => !vectors.has(profileId))
      .filter(({ columns }) => languages === null || languages.includes(columns.language ?? ''))
      .filter(({ documentId }) => after === null || compareTexts(documentId, after) > 0)
      .sort((a, b) => compareTexts(a.documentId, b.documentId) || compareTexts(a.chunkId, b.chunkId))
    let end = Math.min(limit, missing.length)
    while (end > 0 && missing[end]?.documentId === missing[end - 1]!.documentId) end++
    const chunks = missing.slice(0, end).map(({ documentId, chunkId }) => ({ documentId, chunkId }))
    return { outcome: 'found', chunks, next: end < missing.length ? chunks.at(-1)!.documentId : null }
  }

  async position(): Promise<number> {
    return (await this.health()).position
  }

  async health(): Promise<IndexHealth> {
    return {
      state: 'ready',
      reason: '',
      takesWrites: true,
      searchable: true,
      position: this.#position,
      purgedThrough: this.#position,
      documents: new Set(this.#chunks.map((chunk) => chunk.documentId)).size,
      chunks: this.#chunks.length,
      segments: 1,
      memoryBytes: 0,
      diskBytes: 0,
      parts: {},
      profiles: [...this.#dimensions].map(([profileId, dimensions]) => ({
        profileId,
        dimensions,
        chunks: this.#chunks.filter((chunk) => chunk.vectors.has(profileId)).length,
      })),
      warnings: [],
    }
  }

  async checkpoint(): Promise<void> {}

  async purge(): Promise<void> {}

  async clear(): Promise<void> {
    this.#chunks = []
    this.#position = 0
    this.#dimensions.clear()
  }

  async close(): Promise<void> {}

  #change(change: IndexChange): void {
    const { documentId } = change
    const others = this.#chunks.filter((chunk) => chunk.documentId !== documentId)
    const own = this.#chunks.filter((chunk) => chunk.documentId === documentId)
    switch (change.kind) {
      case 'put_version': {
        const { versionId, columns, current, title } = change
        const kept = own
          .filter((chunk) => chunk.versionId !== versionId)
          .map((chunk) => ({ ...withColumns(chunk, columns), current: chunk.current && !current }))
        const added = change.chunks.map(({ chunkId, body, vectors }, i) => {
          const first = i === 0
          const chunk = { documentId, versionId, chunkId, columns, current, first, title, body, vectors: new Map() }
          for (const { profileId, vector } of vectors) this.#setVector(chunk, profileId, Array.from(vector))
          return chunk
        })
        this.#chunks = [...others, ...kept, ...added]
        break
      }
      case 'retire_version':
        this.#chunks = [...others, ...own.filter((chunk) => chunk.versionId !== change.versionId)]
        break
      case 'retire_document':
        this.#chunks = others
        break
      case 'set_columns':
        this.#chunks = [...others, ...own.map((chunk) => withColumns(chunk, change.columns))]
        break
      case 'set_vector':
        for (const chunk of own) {
          if (chunk.chunkId === change.chunkId) this.#setVector(chunk, change.profileId, Array.from(change.vector))
        }
    }
  }

  #setVector(chunk: StoredChunk, profileId: string, vector: number[]): void {
    const floats = Array.from(Float32Array.from(vector))
    const usable = floats.some((value) => value !== 0) && floats.every(Number.isFinite)
    const dimensions = this.#dimensions.get(profileId) ?? floats.length
    if (!usable || dimensions !== floats.length) return
    this.#dimensions.set(profileId, dimensions)
    chunk.vectors.set(profileId, floats)
  }

  #visible({ scope, filters }: { scope: KeywordRequest['scope']; filters: SearchFilters }): VisibleChunk[] {
    return this.#chunks.flatMap((chunk) => {
      const fields = readableFields(scope, chunk.columns)
      if (fields === null || !passes(filters, chunk)) return []
      const [titleVisible, bodyVisible] = [fields.has('title'), fields.has('body')]
      const length = (titleVisible ? chunk.title.length : 0) + (bodyVisible ? chunk.body.length : 0)
      // A scope that may not search the body must not learn how many chunks the body has, so the title belongs to one
      // chunk only.
      return bodyVisible || (titleVisible && chunk.first) ? [{ ...chunk, titleVisible, bodyVisible, length }] : []
    })
  }

  /** Keeps a population under a number that depends on nothing else. */
  #keep(population: Population): number {
    const searched = population.map(({ title, body, titleVisible, bodyVisible }) => [
      titleVisible && title.terms,
      bodyVisible && body.terms,
    ])
    const number = hash('sha256', JSON.stringify(searched), 'buffer').readUIntBE(0, 6)
    this.#populations.set(number, population)
    return number
  }

  /** The columns of a chunk, with those of the catalog that an entry grants for the document's current state. */
  #granted(scope: Scope): (chunk: StoredChunk) => IndexedColumns {
    return ({ documentId, columns }) => {
      const now = this.#chunks.find((chunk) => chunk.documentId === documentId && chunk.current)
      const fields = (now && readableFields(scope, now.columns)) ?? new Set<FieldPermission>()
      const has = (...permissions: readonly string[]) =>
        permissions.some((permission) => fields.has(permission as FieldPermission))
      const closed = catalogFields.filter(({ openedBy }) => openedBy !== undefined && !has(...openedBy))
      return {
        ...columns,
        ...emptyValues('property', closed),
        externalAuthorId: has('author', 'metadata') ? columns.externalAuthorId : null,
      }
    }
  }

  #population(scope: KeywordRequest['scope']): Population {
    return this.#visible({ scope, filters: noFilters })
  }

  #keywordScore(query: KeywordQuery, chunk: VisibleChunk, population: Population): number {
    const scoreOf = (clause: Clause) => this.#clauseScore(clause, chunk, population)
    const scores = (kind: Clause['kind']) => query.clauses.filter((clause) => clause.kind === kind).map(scoreOf)
    const must = scores('must')
    const any = scores('any')
    if (must.includes(0) || scores('mustNot').some((score) => score > 0)) return 0
    const sum = [...must, ...any].reduce((total, score) => total + score, 0)
    return sum === 0 ? 0 : query.boosts.reduce((total, clause) => total + scoreOf(clause), sum)
  }

  #keywordParts({ clauses, boosts }: KeywordQuery, chunk: VisibleChunk, population: Population): number[] {
    return [...clauses, ...boosts].map((clause, i) =>
      clause.kind === 'mustNot' && i < clauses.length ? 0 : this.#clauseScore(clause, chunk, population),
    )
  }

  #clauseScore(clause: Clause, chunk: VisibleChunk, population: Population): number {
    const groups = clause.type === 'word' ? [clause.group] : clause.groups
    const saturated = (idf: number, wanted: readonly TermGroup[]) => this.#saturated(idf, wanted, chunk, population)
    if (groups.length === 1) {
      const [group] = groups
      const expansions = clause.type === 'word' ? (clause.expansions ?? []) : []
      const own = group!.map((term) => saturated(idfOf([term], population), [[term]]))
      const others = expansions.map((match) => this.#expansionScore(match, group!, chunk, population))
      return clause.weight * Math.max(0, ...own, ...others)
    }
    if (groups.length === 0 || groups.some((group) => group.length === 0)) return 0
    return (
      clause.weight *
      saturated(
        groups.reduce((sum, group) => sum + idfOf(group, population), 0),
        groups,
      )
    )
  }

  /** The score of an expansion. Its idf is capped at that of the exact word, if that occurs. */
  #expansionScore(match: TermExpansion, group: TermGroup, chunk: VisibleChunk, population: Population): number {
    const occurring = group.filter((term) => countOf((other) => other === term, population) > 0)
    const idfMax = Math.min(...occurring.map((term) => idfOf([term], population)))
    const scoreOf = (idf: number, count: (field: AnalysedField) => number) =>
      match.factor * this.#saturatedBy(Math.min(idf, idfMax), count, chunk, population)
    if ('terms' in match) {
      return Math.max(
        0,
        ...match.terms.map((term) => scoreOf(idfOf([term], population), (field) => occurrences(field, [[term]]))),
      )
    }
    const begins = (term: string) => unmarked(term).startsWith(match.prefix)
    return scoreOf(idfOfCount(countOf(begins, population), population), ({ terms }) => (terms.some(begins) ? 1 : 0))
  }

  #saturated(idf: number, groups: readonly TermGroup[], chunk: VisibleChunk, population: Population): number {
    return this.#saturatedBy(idf, (field) => occurrences(field, groups), chunk, population)
  }

  #saturatedBy(
    idf: number,
    count: (field: AnalysedField) => number,
    chunk: VisibleChunk,
    population: Population,
  ): number {
    const frequency =
      (chunk.titleVisible ? this.#titleWeight * count(chunk.title) : 0) + (chunk.bodyVisible ? count(chunk.body) : 0)
    if (frequency === 0) return 0
    const total = population.reduce((sum, { length }) => sum + length, 0)
    const average = population.length === 0 ? 1 : Math.max(total / population.length, 1e-9)
    const norm = k1 * (1 - b + (b * chunk.length) / average)
    return (idf * frequency * (k1 + 1)) / (frequency + norm)
  }
}

/** The inverse document frequency of the group's most frequent alternative. */
function idfOf(group: TermGroup, population: Population): number {
  const counts = group.map((term) => countOf((other) => other === term, population))
  return idfOfCount(Math.max(...counts), population)
}

const idfOfCount = (count: number, population: Population): number =>
  Math.log(1 + (population.length - count + 0.5) / (count + 0.5))

/** The number of chunks that have such a term in a visible field. */
const countOf = (isWanted: (term: string) => boolean, population: Population): number =>
  population.filter(
    ({ title, body, titleVisible, bodyVisible }) =>
      (titleVisible && title.terms.some(isWanted)) || (bodyVisible && body.terms.some(isWanted)),
  ).length

const unmarked = (term: string): string => term.replace(/^=/, '')

/** The first term of each position. */
const wordsOf = ({ terms, positions }: AnalysedField): string[] =>
  terms.filter((_, i) => positions[i] !== positions[i - 1]).map(unmarked)

/**
 * The Damerau-Levenshtein distance (optimal string alignment) by its definition: a table over all prefixes of both
 * words. For a prefix match the nearest prefix counts.
 */
export function typingErrors(typed: string, word: string, isPrefix: boolean): number {
  const [a, b] = [[...word], [...typed]]
  const table = [...a, ''].map((_, i) => [...b, ''].map((_, j) => (i === 0 ? j : i)))
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const changed = table[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const least = Math.min(table[i - 1]![j]! + 1, table[i]![j - 1]! + 1, changed)
      const isTransposed = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      table[i]![j] = isTransposed ? Math.min(least, table[i - 2]![j - 2]! + 1) : least
    }
  }
  return isPrefix ? Math.min(...table.map((row) => row.at(-1)!)) : table.at(-1)!.at(-1)!
}

/** The chunk with the current columns of its document, but its own language. */
const withColumns = (chunk: StoredChunk, columns: DocumentColumns): StoredChunk => ({
  ...chunk,
  columns: { ...columns, language: chunk.columns.language },
})

/** Positions at which the groups occur one after the other; for a single term, its number of occurrences. */
function occurrences(field: AnalysedField, groups: readonly TermGroup[]): number {
  if (groups.length === 1) return field.terms.filter((term) => groups[0]!.includes(term)).length
  const at = (group: TermGroup, position: number) =>
    field.terms.some((term, i) => field.positions[i] === position && group.includes(term))
  return [...new Set(field.positions)].filter((position) => groups.every((group, i) => at(group, position + i))).length
}

function passes(filters: SearchFilters, { columns, current }: StoredChunk): boolean {
  const allows = (allowed: readonly string[] | null, value: string | null) =>
    allowed === null || (value !== null && allowed.includes(value))
  const { publishedAt } = columns
  return (
    (current || filters.includeNonCurrent) &&
    allows(filters.datasets, columns.datasetId) &&
    allows(filters.platforms, columns.platform) &&
    allows(filters.languages, columns.language) &&
    allows(filters.regions, columns.region) &&
    allows(filters.contentTypes, columns.contentType) &&
    allows(filters.statuses, columns.status) &&
    (filters.publishedFrom === null || (publishedAt !== null && publishedAt >= filters.publishedFrom)) &&
    (filters.publishedTo === null || (publishedAt !== null && publishedAt < filters.publishedTo))
  )
}

const catalogFields = documentFields.filter(({ indexed }) => indexed === 'catalog')
const noCatalogColumns = { ...emptyValues('property', catalogFields), externalAuthorId: null } as CatalogColumns

/** The columns of a chunk, with those of the catalog if the current state of its document is open. */
function countedIn(population: Population): (chunk: StoredChunk) => IndexedColumns {
  const opened = new Set(population.map(({ documentId }) => documentId))
  return (chunk) => ({ ...chunk.columns, ...(opened.has(chunk.documentId) ? {} : noCatalogColumns) })
}

function meets(conditions: Conditions, columns: CatalogColumns): boolean {
  return Object.entries(conditions).every(([name, condition]) => {
    const value = columns[name as keyof CatalogColumns]
    if (Array.isArray(condition)) return [value].flat().some((one) => one !== null && condition.includes(one))
    const { min, max } = condition as NumberRange
    return typeof value === 'number' && value >= (min ?? -Infinity) && value <= (max ?? Infinity)
  })
}

function valuesOf(facet: Facet, columns: IndexedColumns): readonly (string | null)[] {
  if (typeof facet === 'object') {
    if (columns.publishedAt === null || Number.isNaN(new Date(columns.publishedAt).getTime())) return []
    const date = new Date(columns.publishedAt)
    if (facet.published_at === 'month') date.setUTCDate(1)
    if (facet.published_at === 'week') while (date.getUTCDay() !== 1) date.setUTCDate(date.getUTCDate() - 1)
    return [date.toISOString().slice(0, 10)]
  }
  switch (facet) {
    case 'dataset':
      return [columns.datasetId]
    case 'platform':
      return [columns.platform]
    case 'author':
      return [columns.externalAuthorId]
    default: {
      const { property } = documentFields.find(({ name }) => name === facet)!
      return [...new Set([columns[property as keyof IndexedColumns]].flat())] as (string | null)[]
    }
  }
}

function countFacet(facet: Facet, documents: readonly IndexedColumns[], limit: number): ValueCount[] {
  const counts = new Map<string, number>()
  for (const value of documents.flatMap((columns) => valuesOf(facet, columns))) {
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || compareTexts(a.value, b.value))
    .slice(0, limit)
}

/** Documents without a key are last in either direction. */
function comparePositions(order: KeywordOrder, a: KeywordPosition, b: KeywordPosition): number {
  if (a.key !== b.key) {
    if (a.key === null || b.key === null) return a.key === null ? 1 : -1
    return order === 'published_at' ? a.key - b.key : b.key - a.key
  }
  return compareTexts(a.documentId, b.documentId)
}

interface Ranked {
  readonly documentId: string
  readonly chunkId: string
  readonly score: number
}

function compareHits(a: Ranked, b: Ranked): number {
  return b.score - a.score || compareTexts(a.documentId, b.documentId) || compareTexts(a.chunkId, b.chunkId)
}

const compareTexts = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

function byDocument(matches: (StoredChunk & { score: number })[], othersMax: number): DocumentHit[] {
  const hits = new Map<string, DocumentHit & { otherChunks: ChunkScore[] }>()
  for (const { documentId, chunkId, versionId, score } of matches.toSorted(compareHits)) {
    const hit = hits.get(documentId)
    if (hit === undefined) hits.set(documentId, { documentId, chunkId, versionId, score, otherChunks: [] })
    else if (hit.otherChunks.length < othersMax) hit.otherChunks.push({ chunkId, versionId, score })
  }
  return [...hits.values()]
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let product = 0
  let squaresA = 0
  let squaresB = 0
  for (let i = 0; i < a.length; i++) {
    const component = Math.fround(b[i]!)
    product += a[i]! * component
    squaresA += a[i]! * a[i]!
    squaresB += component * component
  }
  return product / Math.sqrt(squaresA * squaresB)
}
