import { isDeepStrictEqual } from 'node:util'
import { receiveMessageOnPort } from 'node:worker_threads'
import type { ScopeEntry } from '../../../access/scope.ts'
import type { Conditions } from '../../../document/field-types.ts'
import type { WithoutVectorOutcome, WithoutVectorRequest } from '../../../indexing/fed-index.ts'
import { entriesOpening, type GuardedColumn } from '../../../search/column-permissions.ts'
import { packStatistics, unpackStatistics } from '../../../search/keyword-statistics.ts'
import {
  type ChunkScore,
  type DocumentScores,
  type KeywordOutcome,
  type KeywordRequest,
  type NearQuery,
  noFilters,
  type ScoreOutcome,
  type ScoreRequest,
  type SearchFilters,
  type SimilarWordsOutcome,
  type SimilarWordsRequest,
  type ValuesOutcome,
  type ValuesRequest,
  type VectorOutcome,
  type VectorRequest,
} from '../../../search/search-index.ts'
import type { KeywordQuery } from '../../../text/types.ts'
import { isDamage } from '../../full-disk.ts'
import { isSqliteError } from '../../sqlite-advice.ts'
import { VectorReader, vectorId } from '../file/durable-file.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import type { SegmentData } from '../format/segment-data.ts'
import { usableVector } from '../format/vector-column.ts'
import { Control } from '../memory/control.ts'
import { openColumn, openSegment, type SearchView, type Segment } from '../memory/segment.ts'
import { TermDictionary } from '../memory/term-dictionary.ts'
import type { ListUpdate, Profile, SuspectVectors } from '../memory/thread-messages.ts'
import { type NumberedConditions, numberConditions } from './catalog-conditions.ts'
import { type CompiledFilter, FilterCache } from './compile-filter.ts'
import { countersOf, mostFrequent } from './count-values.ts'
import { KeywordKernel } from './keyword-kernel.ts'
import { isOpened, MatchingDocuments } from './matching-documents.ts'
import { skipFromDefault } from './max-score.ts'
import { MissingVectors, pageWithoutVector } from './missing-vectors.ts'
import {
  countedBy,
  findTerms,
  type KeywordPlan,
  noStatistics,
  planKeyword,
  prefixesOf,
  statisticsFrom,
  type TermNumbers,
} from './plan-keyword.ts'
import { type PrefixLists, PrefixWords } from './prefix-chunks.ts'
import type { Outcome, ReaderCall, ReaderOptions, SearchReply } from './reader-calls.ts'
import { TermScan } from './scan-terms.ts'
import { StatisticsCache } from './scope-statistics.ts'
import { locateDocuments, type ScoringByVector, scoreByVector, scoreByWords } from './score-documents.ts'
import { type ByDocument, searchKeyword } from './search-keyword.ts'
import { type ReadFloats, searchVector } from './search-vector.ts'
import { findSimilarWords } from './similar-words.ts'
import { type IndexPart, segmentsOf, wholeIndex } from './split-search.ts'
import { VectorKernel } from './vector-kernel.ts'

interface OpenedIndex {
  /** All segments of the snapshot. */
  readonly view: SearchView
  /** The numbers of the query's terms. */
  readonly terms: TermNumbers
  /** The epoch of the dictionary: while it is the same, the numbers are valid. */
  readonly epoch: number
  readonly conditions: NumberedConditions | null
}

/** A plan, and its statistics in packed form, which the request for the next page returns. */
interface PlanWithStatistics extends KeywordPlan {
  readonly pageStatistics: readonly number[] | undefined
}

const noQuery: KeywordQuery = { clauses: [], boosts: [] }
const timedOut = { outcome: 'timed_out' } as const

/** One search thread: follows the writer's list of segments and answers one call at a time from shared memory. */
export class IndexReader {
  readonly #options: ReaderOptions
  readonly #control: Control
  readonly #dictionary: TermDictionary
  readonly #terms: TermScan
  readonly #memories: WebAssembly.Memory[] = []
  readonly #keywordKernel: KeywordKernel
  readonly #prefixWords: PrefixWords
  readonly #kernel: VectorKernel
  readonly #classes: FilterClass[] = []
  readonly #filters = new FilterCache(this.#classes)
  readonly #statistics = new StatisticsCache(this.#classes)
  /** By the number of the profile; null for a profile that the index does not know. */
  readonly #missingVectors = new Map<number | null, MissingVectors>()
  readonly #matching = new MatchingDocuments()
  #profiles: readonly Profile[] = []
  #segments: Segment[] = []
  #pendingUpdates: ListUpdate[] = []
  #vectors: VectorReader | null = null
  #fileEpoch = 0
  #state = 0

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#control = new Control(options.shared.control)
    this.#dictionary = new TermDictionary(options.shared.dictionary)
    this.#terms = new TermScan(this.#dictionary)
    this.#kernel = new VectorKernel(this.#memories)
    this.#keywordKernel = new KeywordKernel(this.#memories)
    this.#prefixWords = new PrefixWords(this.#dictionary, this.#keywordKernel)
  }

  /** Called after each read of vectors from the file: with null, or with the error. */
  onVectorFile: (error: unknown) => void = () => {}

  /** Called with vectors that are missing or damaged: their chunks were deleted meanwhile, or the file is damaged. */
  onSuspectVectors: (vectors: SuspectVectors) => void = () => {}

  /** `deadline` is on the clock of `performance.now()`. */
  answer(call: ReaderCall, deadline: number, part: IndexPart = wholeIndex): SearchReply {
    try {
      const outcome = this.#answer(call, deadline, part)
      return { outcome, state: this.#state }
    } finally {
      this.#control.unpin(this.#options.reader)
    }
  }

  #answer(call: ReaderCall, deadline: number, part: IndexPart): Outcome {
    switch (call.call) {
      case 'keyword':
        return this.#keyword(call.request, deadline, part)
      case 'vector':
        return this.#vector(call.request, deadline, part)
      case 'similarWords':
        return this.#similarWords(call.request, deadline)
      case 'score':
        return this.#score(call.request, deadline)
      case 'values':
        return this.#values(call.request, deadline)
      case 'withoutVector':
        return this.#withoutVector(call.request)
    }
  }

  /** Receives the writer's messages, so that they do not pile up in an idle reader. Resolves when there may be more. */
  async catchUp(): Promise<void> {
    const { state, version } = this.#control.snapshot(this.#options.reader, () => undefined)
    this.#follow(version)
    this.#control.unpin(this.#options.reader)
    await this.#control.published(state)
  }

  #keyword(request: KeywordRequest, deadline: number, part: IndexPart): KeywordOutcome {
    const opened = this.#open(request.query, request.conditions)
    const plan = this.#plan(request, request.query, opened, deadline)
    if (plan === null) return timedOut
    if (this.#dictionary.epoch !== opened.epoch) return this.#keyword(request, deadline, part)
    const { conditions } = opened
    const order = request.order ?? 'relevance'
    const { shared, counters } = countersOf(request.facets?.of ?? [], this.#classes, this.#dictionary)
    const openedBy = this.#openedBy(request)
    const isCurrent = (number: number) => this.#classes[number]!.current
    const markOpened: ByDocument['markOpened'] = (data, matching, column) =>
      matching.markOpened(data, isCurrent, openedBy(column))
    const isByDocument = order !== 'relevance' || conditions !== null || counters.length > 0
    const view = partOf(opened.view, part)
    const limit = wholeNumber(request.limit)
    const found = searchKeyword({
      view,
      plan,
      filter: this.#filters.filterFor(request.scope, request.filters),
      visible: isUnfiltered(request) ? this.#statistics.searchable(request.scope, opened.view) : () => null,
      skipFrom: this.#options.skipFrom ?? skipFromDefault,
      kernel: this.#keywordKernel,
      limit,
      after: request.after,
      otherChunksMax: wholeNumber(request.otherChunksMax),
      explain: request.explain ?? false,
      order,
      byDocument: !isByDocument
        ? null
        : {
            matching: this.#matching,
            markOpened,
            conditions,
            count: (data, matching) => {
              for (const counter of shared) {
                if (counter.column !== null) markOpened(data, matching, counter.column)
                counter.add(data, matching)
              }
            },
          },
      deadline,
    })
    if (found === null) return timedOut
    // If other threads do parts of the search, there may be a next page even if this part has none.
    const page = found.next === null && part.of === 1 ? found : { ...found, statistics: plan.pageStatistics }
    if (request.facets === undefined) return page
    const selection = mostFrequent(wholeNumber(request.facets.limit))
    const facets = counters.map((counter) => counter.select(selection))
    // The counted numbers may stand for other values now.
    if (this.#dictionary.epoch !== opened.epoch) return this.#keyword(request, deadline, part)
    return { ...page, facets }
  }

  /**
   * Returns a function that finds the filter for current documents, or for a column of the catalog. A `null` filter
   * means all documents that the request shows.
   */
  #openedBy({ scope, filters }: KeywordRequest): (column: GuardedColumn | null) => CompiledFilter | null {
    const known = new Map<GuardedColumn | null, CompiledFilter | null>()
    const filterOf = (column: GuardedColumn | null): CompiledFilter | null => {
      const entries = column === null ? scope.entries : entriesOpening(column, scope)
      if (entries.length === scope.entries.length && !filters.includeNonCurrent) return null
      return this.#filters.filterFor(column === null ? scope : { entries: entries.map(withWholeText) }, noFilters)
    }
    return (column) => {
      if (!known.has(column)) known.set(column, filterOf(column))
      return known.get(column)!
    }
  }

  #values(request: ValuesRequest, deadline: number): ValuesOutcome {
    const { scope, field, prefix, after, limit } = request
    const { view, epoch } = this.#open()
    const filter = this.#filters.filterFor({ entries: scope.entries.map(withWholeText) }, noFilters)
    const { shared, counters } = countersOf([field], this.#classes, this.#dictionary)
    for (const { data, deletedAt } of view.segments) {
      if (performance.now() > deadline) return timedOut
      this.#matching.takeVisible(data, deletedAt, view.generation, filter)
      for (const counter of shared) counter.add(data, this.#matching)
    }
    const pageSize = Math.max(1, wholeNumber(limit))
    const found = counters[0]!.select({
      limit: pageSize + 1,
      byValue: true,
      prefix: Buffer.from(prefix),
      after: after === null ? null : Buffer.from(after),
    })
    if (this.#dictionary.epoch !== epoch) return this.#values(request, deadline)
    const values = found.slice(0, pageSize)
    return { outcome: 'found', values, next: found.length > pageSize ? values.at(-1)!.value : null }
  }

  #similarWords(request: SimilarWordsRequest, deadline: number): SimilarWordsOutcome {
    const { scope, filters } = request
    const { view, epoch, conditions } = this.#open(noQuery, request.conditions)
    const filter = this.#filters.filterFor(scope, filters)
    const open = this.#filters.filterFor(scope, noFilters)
    const isCurrent = (number: number) => this.#classes[number]!.current
    const accepts =
      conditions &&
      ((data: SegmentData, chunk: number) =>
        isOpened(data, chunk, isCurrent, open) && conditions.hold(data, data.chunkDocument[chunk]!))
    this.#keywordKernel.begin(filter, this.#options.titleWeight)
    const words = findSimilarWords({
      view,
      dictionary: this.#dictionary,
      terms: this.#terms,
      kernel: this.#keywordKernel,
      filter,
      accepts,
      countIn: accepts === null && isUnfiltered(request) ? this.#statistics.counter(scope, view) : null,
      request,
      deadline,
    })
    if (this.#dictionary.epoch !== epoch) return this.#similarWords(request, deadline)
    return words === null ? timedOut : { outcome: 'found', words }
  }

  #vector(request: VectorRequest, deadline: number, part: IndexPart): VectorOutcome {
    const opened = this.#open()
    const filter = this.#filters.filterFor(request.scope, request.filters)
    const profile = this.#profiles.find(({ profileId }) => profileId === request.profileId)
    const vector = profile === undefined ? null : usableVector(request.vector, profile.dimensions)
    // One of the threads that share a search decides this for the whole index, because parts of it may differ.
    const vectorsPending = part.number === 0 && this.#missingVectorsOf(profile).areMany(opened.view, filter)
    if (profile === undefined || vector === null) return { outcome: 'found', hits: [], vectorsPending }
    const searchable = this.#statistics.gather(request.scope, opened.view, [], new Map(), deadline)
    if (searchable === null) return timedOut
    const view = partOf(opened.view, part)
    const topK = wholeNumber(request.topK)
    const enough = request.enough ?? { chunks: topK, documents: 0 }
    const hits = searchVector({
      view,
      filter,
      visible: isUnfiltered(request) ? this.#statistics.bodies(request.scope, opened.view) : () => null,
      profile: profile.number,
      vector,
      topK,
      enough,
      searchableChunks: searchable.chunks / part.of,
      kernel: this.#kernel,
      readFloats: this.#readFloats,
      deadline,
    })
    return hits === null ? timedOut : { outcome: 'found', hits, vectorsPending }
  }

  #withoutVector({ profileId, languages, after, limit }: WithoutVectorRequest): WithoutVectorOutcome {
    const { view } = this.#open()
    const profile = this.#profiles.find((known) => known.profileId === profileId)
    const isWanted = this.#classes.map(({ language }) => languages === null || languages.includes(language ?? ''))
    const page = { after, limit: Math.max(1, wholeNumber(limit)) }
    return pageWithoutVector(view, this.#missingVectorsOf(profile), isWanted, page)
  }

  #missingVectorsOf(profile: Profile | undefined): MissingVectors {
    const number = profile?.number ?? null
    let missing = this.#missingVectors.get(number)
    if (missing === undefined) {
      missing = new MissingVectors(number)
      this.#missingVectors.set(number, missing)
    }
    return missing
  }

  #score(request: ScoreRequest, deadline: number): ScoreOutcome {
    const query = request.query ?? noQuery
    const opened = this.#open(query)
    const plan = this.#plan(request, query, opened, deadline)
    if (plan === null) return timedOut
    if (this.#dictionary.epoch !== opened.epoch) return this.#score(request, deadline)
    const { documentIds, scope, filters, explain = [], vectors } = request
    const { view } = opened
    const locations = locateDocuments(view, documentIds)
    const isExplained = documentIds.map((documentId) => explain.includes(documentId))
    const filter = this.#filters.filterFor(scope, filters)
    const byWords = scoreByWords({ view, plan, filter, isExplained, deadline }, locations)
    if (byWords === null) return timedOut
    const byVectors: (ChunkScore | null)[][] = documentIds.map(() => [])
    for (const vector of vectors) {
      const scoring = this.#scoringByVector({ ...vector, scope }, view, deadline)
      const scored = scoring === null ? locations.map(() => null) : scoreByVector(scoring, locations)
      if (scored === null) return timedOut
      for (const [i, scores] of byVectors.entries()) scores.push(scored[i]!)
    }
    const scores = documentIds.map(
      (documentId, i): DocumentScores => ({ documentId, keyword: byWords[i]!, vectors: byVectors[i]! }),
    )
    return { outcome: 'found', scores }
  }

  /** Returns `null` for a profile that the index does not know, or a vector that cannot be compared. */
  #scoringByVector(
    { profileId, vector: requested, scope, filters }: NearQuery & Pick<ScoreRequest, 'scope'>,
    view: SearchView,
    deadline: number,
  ): ScoringByVector | null {
    const profile = this.#profiles.find((known) => known.profileId === profileId)
    const vector = profile === undefined ? null : usableVector(requested, profile.dimensions)
    if (profile === undefined || vector === null) return null
    const filter = this.#filters.filterFor(scope, filters)
    const [kernel, readFloats] = [this.#kernel, this.#readFloats]
    return { view, filter, profile: profile.number, vector, kernel, readFloats, deadline }
  }

  /** Pins the reader to the current state of the index until `unpin`. */
  #open(query: KeywordQuery = noQuery, requested?: Conditions): OpenedIndex {
    let terms: TermNumbers = new Map()
    let epoch = 0
    let conditions: NumberedConditions | null = null
    const { version, state, generation } = this.#control.snapshot(this.#options.reader, () => {
      terms = findTerms(query, this.#dictionary)
      conditions = numberConditions(requested, this.#dictionary, this.#classes)
      epoch = this.#dictionary.epoch
    })
    this.#follow(version)
    this.#state = state
    return { view: { segments: this.#segments, generation }, terms, conditions, epoch }
  }

  /**
   * Returns `null` if the time runs out. The caller must open the index again if the dictionary's epoch has changed
   * meanwhile.
   */
  #plan(
    request: Pick<ScoreRequest, 'scope' | 'filters' | 'statistics'>,
    query: KeywordQuery,
    { view, terms }: OpenedIndex,
    deadline: number,
  ): PlanWithStatistics | null {
    const { scope, filters } = request
    const prefixed = this.#prefixed(query, view, deadline)
    if (prefixed === null) return null
    const known = [...terms.values()].filter((term) => term !== 0)
    const isEmpty = terms.size + prefixed.size === 0
    const counted = [...terms.keys(), ...prefixed.keys()]
    const previous = unpackStatistics(request.statistics, counted)
    const statistics = isEmpty
      ? noStatistics
      : previous === null
        ? this.#statistics.gather(scope, view, known, prefixed, deadline)
        : statisticsFrom(previous, terms, prefixed)
    if (statistics === null) return null
    const { titleWeight } = this.#options
    const weighing = { titleWeight, includeNonCurrent: filters.includeNonCurrent }
    const pageStatistics = packStatistics(counted, countedBy(statistics, terms, prefixed))
    return { ...planKeyword(query, terms, prefixed, statistics, weighing), pageStatistics }
  }

  /** The chunks of each prefix; `null` if the time runs out. */
  #prefixed(query: KeywordQuery, { segments }: SearchView, deadline: number): ReadonlyMap<string, PrefixLists> | null {
    const prefixed = new Map<string, PrefixLists>()
    for (const prefix of prefixesOf(query)) {
      const lists = this.#prefixWords.lists(segments, prefix, deadline)
      if (lists === null) return null
      prefixed.set(prefix, lists)
    }
    return prefixed
  }

  /** Brings the list to exactly `version`: later updates are not published yet. */
  #follow(version: number): void {
    for (let received = receiveMessageOnPort(this.#options.writer); received; ) {
      this.#pendingUpdates.push(received.message as ListUpdate)
      received = receiveMessageOnPort(this.#options.writer)
    }
    const due = this.#pendingUpdates.filter((update) => update.version <= version)
    if (due.length === 0) return
    this.#pendingUpdates = this.#pendingUpdates.filter((update) => update.version > version)
    // A segment that was added and removed in between is skipped, because its memory may have been reused.
    const removed = new Set(due.flatMap((update) => update.remove))
    this.#segments = this.#segments.filter((segment) => !removed.has(segment.id))
    for (const update of due) this.#applyUpdate(update, removed)
  }

  #applyUpdate(update: ListUpdate, removed: ReadonlySet<number>): void {
    for (const [number, memory] of update.memories) this.#memories[number] = memory
    const added = update.add.filter((location) => !removed.has(location.id))
    this.#segments = [...this.#segments, ...added.map((location) => openSegment(this.#memories, location))]
    for (const { segment: id, location } of update.columns) {
      const segment = this.#segments.find((known) => known.id === id)
      segment?.columns.set(location.profile, openColumn(this.#memories, location, segment.data.chunks))
    }
    if (update.classesFrom < this.#classes.length) {
      this.#filters.clear()
      this.#statistics.clear()
    }
    this.#classes.length = update.classesFrom
    this.#classes.push(...update.classes)
    this.#profiles = update.profiles
    if (update.fileEpoch !== this.#fileEpoch) {
      this.#vectors?.close()
      this.#vectors = null
      this.#fileEpoch = update.fileEpoch
    }
  }

  readonly #readFloats: ReadFloats = (profile, vectorKeys) => {
    try {
      this.#vectors ??= new VectorReader(this.#options.path)
      const read = this.#vectors.read(vectorKeys.map((key) => vectorId(profile, key)))
      this.onVectorFile(null)
      const missing = vectorKeys.filter((_, i) => read[i] === null)
      if (missing.length > 0) this.onSuspectVectors({ profile, vectorKeys: missing })
      return read
    } catch (error) {
      if (!isSqliteError(error)) throw error
      // Without the floats the result is less precise.
      this.onVectorFile(error)
      if (isDamage(error)) this.onSuspectVectors({ profile, vectorKeys })
      return []
    }
  }
}

/** For the catalog columns of documents, which an entry opens together with any field. */
const withWholeText = (entry: ScopeEntry): ScopeEntry => ({ ...entry, fields: ['title', 'body'] })

const isUnfiltered = ({ filters }: { readonly filters: SearchFilters }): boolean =>
  isDeepStrictEqual(filters, noFilters)

const partOf = ({ segments, generation }: SearchView, part: IndexPart): SearchView => ({
  segments: segmentsOf(part, segments),
  generation,
})

function wholeNumber(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.trunc(value)) : 0
}
