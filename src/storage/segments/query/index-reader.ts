import { isDeepStrictEqual } from 'node:util'
import { receiveMessageOnPort } from 'node:worker_threads'
import type { ScopeEntry } from '../../../access/scope.ts'
import { type CatalogColumn, entriesOpening } from '../../../search/column-permissions.ts'
import { packStatistics, unpackStatistics } from '../../../search/keyword-statistics.ts'
import {
  type CatalogConditions,
  type CountOutcome,
  type CountRequest,
  type DocumentHit,
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
  type ToldColumns,
  type ValuesOutcome,
  type ValuesRequest,
  type VectorOutcome,
  type VectorRequest,
  type WithoutVectorOutcome,
  type WithoutVectorRequest,
} from '../../../search/search-index.ts'
import type { KeywordQuery } from '../../../text/types.ts'
import { isDamage } from '../../full-disk.ts'
import { VectorReader, vectorId } from '../file/durable-file.ts'
import type { FilterClass } from '../format/filter-classes.ts'
import type { SegmentImage } from '../format/segment-image.ts'
import { usableVector } from '../format/vector-column.ts'
import { Control } from '../memory/control.ts'
import type { ListUpdate, Profile } from '../memory/published-list.ts'
import { openColumn, openSegment, type Place, type SearchView, type Segment } from '../memory/segment.ts'
import { TermDictionary } from '../memory/term-dictionary.ts'
import type { DoubtfulVectors } from '../memory/thread-news.ts'
import { type BegunLists, BegunWords } from './begun-chunks.ts'
import { type NumberedConditions, numberConditions } from './catalog-conditions.ts'
import { type CompiledFilter, FilterCache } from './compile-filter.ts'
import { countersOf, mostFrequent } from './count-values.ts'
import { KeywordKernel } from './keyword-kernel.ts'
import { LackingVectors, pageWithoutVector } from './lacking-vectors.ts'
import { isOpened, MatchingDocuments } from './matching-documents.ts'
import {
  beginningsOf,
  countedBy,
  findTerms,
  type KeywordPlan,
  noStatistics,
  planKeyword,
  statisticsFrom,
  type TermNumbers,
} from './plan-keyword.ts'
import type { Outcome, ReaderCall, ReaderOptions, SearchReply } from './reader-calls.ts'
import { TermScan } from './scan-terms.ts'
import { StatisticsCache } from './scope-statistics.ts'
import {
  nearestChunks,
  placesOf,
  type Scores,
  type ScoringByVector,
  scoreByVector,
  scoreByWords,
} from './score-documents.ts'
import { type ByDocument, searchKeyword } from './search-keyword.ts'
import { type ReadFloats, searchVector } from './search-vector.ts'
import { siftFromUsual } from './sift-chunks.ts'
import { SimdKeywordKernel } from './simd-keyword-kernel.ts'
import { findSimilarWords } from './similar-words.ts'
import { type IndexPart, likelyAmongBest, segmentsOf, wholeIndex } from './split-search.ts'
import { openKernel, type VectorKernel } from './vector-kernel.ts'

interface Opened {
  /** All segments. */
  readonly view: SearchView
  /** The numbers of the query's terms. */
  readonly terms: TermNumbers
  /** Of the dictionary: what was read in it is of this index while it is the same. */
  readonly epoch: number
  readonly conditions: NumberedConditions | null
}

/** A plan, with what the next page goes by. */
interface HandedPlan extends KeywordPlan {
  readonly handedOn: readonly number[] | undefined
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
  readonly #begunWords: BegunWords
  readonly #kernel: VectorKernel
  readonly #classes: FilterClass[] = []
  readonly #filters = new FilterCache(this.#classes)
  readonly #statistics = new StatisticsCache(this.#classes)
  /** By the number of the profile; null for one that the index does not know. */
  readonly #lacking = new Map<number | null, LackingVectors>()
  readonly #matching = new MatchingDocuments()
  #profiles: readonly Profile[] = []
  #segments: Segment[] = []
  #waiting: ListUpdate[] = []
  #vectors: VectorReader | null = null
  #fileEpoch = 0
  #state = 0

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#control = new Control(options.shared.control)
    this.#dictionary = new TermDictionary(options.shared.dictionary)
    this.#terms = new TermScan(this.#dictionary, options.kernel)
    this.#kernel = openKernel(options.kernel, this.#memories)
    this.#keywordKernel = options.kernel === 'simd' ? new SimdKeywordKernel(this.#memories) : new KeywordKernel()
    this.#begunWords = new BegunWords(this.#dictionary, this.#keywordKernel)
  }

  /** Hears whether vectors could be read from the file: null, or what it failed of. */
  onVectorFile: (error: unknown) => void = () => {}

  /** Hears of vectors that the file does not have, or not whole: of chunks that are gone since, or it is damaged. */
  onDoubt: (vectors: DoubtfulVectors) => void = () => {}

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
      case 'count':
        return this.#count(call.request, deadline)
      case 'values':
        return this.#values(call.request, deadline)
      case 'withoutVector':
        return this.#withoutVector(call.request)
    }
  }

  /** Takes in what the writer sent, so that an idle reader does not hoard it. Resolves when there may be more. */
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
    const markOpened: ByDocument['markOpened'] = (image, matching, column) =>
      matching.markOpened(image, isCurrent, openedBy(column))
    const isByDocument = order !== 'relevance' || conditions !== null || counters.length > 0
    const view = partOf(opened.view, part)
    const limit = wholeNumber(request.limit)
    const found = searchKeyword({
      view,
      plan,
      filter: this.#filters.filterFor(request.scope, request.filters),
      visible: isUnfiltered(request) ? this.#statistics.searchable(request.scope, opened.view) : () => null,
      siftFrom: this.#options.siftFrom ?? siftFromUsual,
      kernel: this.#keywordKernel,
      limit,
      after: request.after,
      otherChunksMax: wholeNumber(request.otherChunksMax),
      explained: request.explain ? limit : request.explainFirst ? 1 : 0,
      order,
      byDocument: !isByDocument
        ? null
        : {
            matching: this.#matching,
            markOpened,
            conditions,
            count: (image, matching) => {
              for (const counter of shared) {
                if (counter.column !== null) markOpened(image, matching, counter.column)
                counter.add(image, matching)
              }
            },
          },
      deadline,
    })
    if (found === null) return timedOut
    const { places, ...outcome } = found
    const likely = places.slice(0, likelyAmongBest(limit, view.segments, opened.view.segments))
    const told = { ...outcome, hits: this.#withCosines(request, view, outcome.hits, likely, deadline) }
    // Where others do a part of it, there may be a next page though this one has none.
    const page = outcome.next === null && part.of === 1 ? told : { ...told, statistics: plan.handedOn }
    if (request.facets === undefined) return page
    const selection = mostFrequent(wholeNumber(request.facets.limit))
    const facets = counters.map((counter) => counter.select(selection))
    // Cleared meanwhile: the numbers that were counted mean other values by now.
    if (this.#dictionary.epoch !== opened.epoch) return this.#keyword(request, deadline, part)
    return { ...page, facets }
  }

  /** Which documents, or columns of the catalog, are open as they are now; `null`: of all that the request shows. */
  #openedBy({ scope, filters }: KeywordRequest): (column: CatalogColumn | null) => CompiledFilter | null {
    const known = new Map<CatalogColumn | null, CompiledFilter | null>()
    const filterOf = (column: CatalogColumn | null): CompiledFilter | null => {
      const entries = column === null ? scope.entries : entriesOpening(column, scope)
      if (entries.length === scope.entries.length && !filters.includeNonCurrent) return null
      return this.#filters.filterFor(column === null ? scope : { entries: entries.map(wholly) }, noFilters)
    }
    return (column) => {
      if (!known.has(column)) known.set(column, filterOf(column))
      return known.get(column)!
    }
  }

  #values(request: ValuesRequest, deadline: number): ValuesOutcome {
    const { scope, field, prefix, after, limit } = request
    const { view, epoch } = this.#open()
    const filter = this.#filters.filterFor({ entries: scope.entries.map(wholly) }, noFilters)
    const { shared, counters } = countersOf([field], this.#classes, this.#dictionary)
    for (const { image, died } of view.segments) {
      if (performance.now() > deadline) return timedOut
      this.#matching.takeVisible(image, died, view.generation, filter)
      for (const counter of shared) counter.add(image, this.#matching)
    }
    const most = Math.max(1, wholeNumber(limit))
    const found = counters[0]!.select({
      limit: most + 1,
      byValue: true,
      prefix: Buffer.from(prefix),
      after: after === null ? null : Buffer.from(after),
    })
    if (this.#dictionary.epoch !== epoch) return this.#values(request, deadline)
    const values = found.slice(0, most)
    return { outcome: 'found', values, next: found.length > most ? values.at(-1)!.value : null }
  }

  #similarWords(request: SimilarWordsRequest, deadline: number): SimilarWordsOutcome {
    const { scope, filters } = request
    const { view, epoch, conditions } = this.#open(noQuery, request.conditions)
    const filter = this.#filters.filterFor(scope, filters)
    const open = this.#filters.filterFor(scope, noFilters)
    const isCurrent = (number: number) => this.#classes[number]!.current
    const admits =
      conditions &&
      ((image: SegmentImage, chunk: number) =>
        isOpened(image, chunk, isCurrent, open) && conditions.hold(image, image.chunkDocument[chunk]!))
    this.#keywordKernel.begin(filter, this.#options.titleWeight)
    const words = findSimilarWords({
      view,
      dictionary: this.#dictionary,
      terms: this.#terms,
      kernel: this.#keywordKernel,
      filter,
      admits,
      countIn: admits === null && isUnfiltered(request) ? this.#statistics.counter(scope, view) : null,
      request,
      deadline,
    })
    if (this.#dictionary.epoch !== epoch) return this.#similarWords(request, deadline)
    return words === null ? timedOut : { outcome: 'found', words }
  }

  /** The first hits, whose places are given, with their cosines; as they are where time ran out. */
  #withCosines(
    { scope, filters, near }: KeywordRequest,
    view: SearchView,
    hits: readonly DocumentHit[],
    places: readonly Place[],
    deadline: number,
  ): readonly DocumentHit[] {
    if (near === undefined) return hits
    const nearest = near.map((query) => {
      const scoring = this.#scoringByVector({ ...query, scope }, view, deadline)
      return scoring === null ? [] : nearestChunks(scoring, places)
    })
    if (!nearest.every((one) => one !== null)) return hits
    return hits.map((hit, i) =>
      i < places.length
        ? { ...hit, cosines: nearest.map((one) => one[i]?.score ?? null), ...this.#told(filters, view, places[i]!) }
        : hit,
    )
  }

  /** Of a document's current version. Where others are searched too, it may not be the one that was found. */
  #told({ includeNonCurrent }: SearchFilters, { segments }: SearchView, place: Place): ToldColumns | null {
    if (includeNonCurrent) return null
    const { image } = segments[place.segment]!
    const classOf = (chunk: number) => this.#classes[image.chunkClass[chunk]!]!
    const last = image.documentFirstChunk[place.document + 1]! - 1
    let chunk = image.documentFirstChunk[place.document]!
    while (chunk < last && !classOf(chunk).current) chunk++
    const published = image.documentPublished[place.document]!
    return {
      language: classOf(chunk).language,
      publishedAt: Number.isNaN(published) ? null : published,
      titleLength: image.titleLength[image.chunkVersion[chunk]!]!,
    }
  }

  #vector(request: VectorRequest, deadline: number, part: IndexPart): VectorOutcome {
    const opened = this.#open(request.words?.query)
    const filter = this.#filters.filterFor(request.scope, request.filters)
    const profile = this.#profiles.find(({ profileId }) => profileId === request.profileId)
    const vector = profile === undefined ? null : usableVector(request.vector, profile.dimensions)
    // Of the whole index, by one of those who share the search: shares of its parts would say nothing.
    const vectorsPending = part.number === 0 && this.#lackingOf(profile).areMany(opened.view, filter)
    if (profile === undefined || vector === null) return { outcome: 'found', hits: [], vectorsPending }
    const searchable = this.#statistics.gather(request.scope, opened.view, [], new Map(), deadline)
    if (searchable === null) return timedOut
    const view = partOf(opened.view, part)
    const topK = wholeNumber(request.topK)
    const enough = request.enough ?? { chunks: topK, documents: 0 }
    const found = searchVector({
      view,
      filter,
      visible: isUnfiltered(request) ? this.#statistics.bodies(request.scope, opened.view) : () => null,
      profile: profile.number,
      vector,
      topK,
      enough,
      among: searchable.chunks / part.of,
      kernel: this.#kernel,
      readFloats: this.#readFloats,
      deadline,
    })
    if (found === null) return timedOut
    const likely = found.places.slice(
      0,
      likelyAmongBest(Math.min(topK, Math.max(enough.chunks, enough.documents)), view.segments, opened.view.segments),
    )
    const words = this.#toldByWords(request, opened, view, likely, deadline) ?? []
    const hits = found.hits.map((hit, i) =>
      i < words.length ? { ...hit, words: words[i]!, ...this.#told(request.filters, view, likely[i]!) } : hit,
    )
    return { outcome: 'found', hits, vectorsPending }
  }

  /** `null` where nothing is told: it was not asked for, or time ran out, or the dictionary is another one by now. */
  #toldByWords(
    { scope, words }: VectorRequest,
    opened: Opened,
    view: SearchView,
    places: readonly Place[],
    deadline: number,
  ): Scores {
    if (words === undefined) return null
    const { query, filters, explain = false } = words
    const plan = this.#plan({ scope, filters }, query, opened, deadline)
    if (plan === null || this.#dictionary.epoch !== opened.epoch) return null
    return scoreByWords({ view, plan, filter: this.#filters.filterFor(scope, filters), explain, deadline }, places)
  }

  #withoutVector({ profileId, languages, after, limit }: WithoutVectorRequest): WithoutVectorOutcome {
    const { view } = this.#open()
    const profile = this.#profiles.find((known) => known.profileId === profileId)
    const isWanted = this.#classes.map(({ language }) => languages === null || languages.includes(language ?? ''))
    const page = { after, limit: Math.max(1, wholeNumber(limit)) }
    return pageWithoutVector(view, this.#lackingOf(profile), isWanted, page)
  }

  #lackingOf(profile: Profile | undefined): LackingVectors {
    const number = profile?.number ?? null
    let lacking = this.#lacking.get(number)
    if (lacking === undefined) {
      lacking = new LackingVectors(number)
      this.#lacking.set(number, lacking)
    }
    return lacking
  }

  #score(request: ScoreRequest, deadline: number): ScoreOutcome {
    const query = request.query ?? noQuery
    const opened = this.#open(query)
    const plan = this.#plan(request, query, opened, deadline)
    if (plan === null) return timedOut
    if (this.#dictionary.epoch !== opened.epoch) return this.#score(request, deadline)
    const { scope, filters, explain = false, vector } = request
    const { view } = opened
    const places = placesOf(view, request.documentIds)
    const byWords = scoreByWords(
      { view, plan, filter: this.#filters.filterFor(scope, filters), explain, deadline },
      places,
    )
    const scoring = vector && this.#scoringByVector({ ...vector, filters, scope }, view, deadline)
    const byVector = scoring === null ? places.map(() => null) : scoreByVector(scoring, places)
    if (byWords === null || byVector === null) return timedOut
    const scores = request.documentIds.map(
      (documentId, i): DocumentScores => ({ documentId, keyword: byWords[i]!, vector: byVector[i]! }),
    )
    return { outcome: 'found', scores }
  }

  /** `null` for a profile that the index does not know, or a vector that cannot be compared with its own. */
  #scoringByVector(
    { profileId, vector: asked, scope, filters }: NearQuery & Pick<ScoreRequest, 'scope'>,
    view: SearchView,
    deadline: number,
  ): ScoringByVector | null {
    const profile = this.#profiles.find((known) => known.profileId === profileId)
    const vector = profile === undefined ? null : usableVector(asked, profile.dimensions)
    if (profile === undefined || vector === null) return null
    const filter = this.#filters.filterFor(scope, filters)
    const [kernel, readFloats] = [this.#kernel, this.#readFloats]
    return { view, filter, profile: profile.number, vector, kernel, readFloats, deadline }
  }

  #count(request: CountRequest, deadline: number): CountOutcome {
    const { view } = this.#open()
    const filter = this.#filters.filterFor(request.scope, request.filters)
    let documents = 0
    let chunks = 0
    for (const { image, died } of view.segments) {
      if (performance.now() > deadline) return { outcome: 'timed_out' }
      let last = -1
      for (let chunk = 0; chunk < image.chunks; chunk++) {
        if (died[chunk]! <= view.generation || filter.maskOf(image, chunk) === 0) continue
        chunks++
        if (image.chunkDocument[chunk] !== last) documents++
        last = image.chunkDocument[chunk]!
      }
    }
    return { outcome: 'found', documents, chunks }
  }

  /** The state of the index as of now; the reader stays in it until `unpin`. */
  #open(query: KeywordQuery = noQuery, asked?: CatalogConditions): Opened {
    let terms: TermNumbers = new Map()
    let epoch = 0
    let conditions: NumberedConditions | null = null
    const { version, state, generation } = this.#control.snapshot(this.#options.reader, () => {
      terms = findTerms(query, this.#dictionary)
      conditions = numberConditions(asked, this.#dictionary)
      epoch = this.#dictionary.epoch
    })
    this.#follow(version)
    this.#state = state
    return { view: { segments: this.#segments, generation }, terms, conditions, epoch }
  }

  /** `null` when time runs out. To be made again, of another state, where the dictionary's epoch has changed meanwhile. */
  #plan(
    request: Pick<ScoreRequest, 'scope' | 'filters' | 'statistics'>,
    query: KeywordQuery,
    { view, terms }: Opened,
    deadline: number,
  ): HandedPlan | null {
    const { scope, filters } = request
    const begun = this.#begun(query, view, deadline)
    if (begun === null) return null
    const known = [...terms.values()].filter((term) => term !== 0)
    const asksNothing = terms.size + begun.size === 0
    const asked = [...terms.keys(), ...begun.keys()]
    const handed = unpackStatistics(request.statistics, asked)
    const statistics = asksNothing
      ? noStatistics
      : handed === null
        ? this.#statistics.gather(scope, view, known, begun, deadline)
        : statisticsFrom(handed, terms, begun)
    if (statistics === null) return null
    const { titleWeight } = this.#options
    const weighing = { titleWeight, includeNonCurrent: filters.includeNonCurrent }
    const handedOn = packStatistics(asked, countedBy(statistics, terms, begun))
    return { ...planKeyword(query, terms, begun, statistics, weighing), handedOn }
  }

  /** By beginning. `null` when time runs out. */
  #begun(query: KeywordQuery, { segments }: SearchView, deadline: number): ReadonlyMap<string, BegunLists> | null {
    const begun = new Map<string, BegunLists>()
    for (const beginning of beginningsOf(query)) {
      const lists = this.#begunWords.lists(segments, beginning, deadline)
      if (lists === null) return null
      begun.set(beginning, lists)
    }
    return begun
  }

  /** Brings the list to `version`, no further: what comes later is not yet published. */
  #follow(version: number): void {
    for (let received = receiveMessageOnPort(this.#options.writer); received; ) {
      this.#waiting.push(received.message as ListUpdate)
      received = receiveMessageOnPort(this.#options.writer)
    }
    const due = this.#waiting.filter((update) => update.version <= version)
    if (due.length === 0) return
    this.#waiting = this.#waiting.filter((update) => update.version > version)
    // What came and went in between is not there any more: its memory may hold something else by now.
    const removed = new Set(due.flatMap((update) => update.remove))
    this.#segments = this.#segments.filter((segment) => !removed.has(segment.id))
    for (const update of due) this.#take(update, removed)
  }

  #take(update: ListUpdate, removed: ReadonlySet<number>): void {
    for (const [number, memory] of update.memories) this.#memories[number] = memory
    const added = update.add.filter((place) => !removed.has(place.id))
    this.#segments = [...this.#segments, ...added.map((place) => openSegment(this.#memories, place))]
    for (const { segment: id, place } of update.columns) {
      const segment = this.#segments.find((known) => known.id === id)
      segment?.columns.set(place.profile, openColumn(this.#memories, place, segment.image.chunks))
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
      if (missing.length > 0) this.onDoubt({ profile, vectorKeys: missing })
      return read
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SQLITE_ERROR') throw error
      // A file that cannot be read costs the last step of precision, not the answer.
      this.onVectorFile(error)
      if (isDamage(error)) this.onDoubt({ profile, vectorKeys })
      return []
    }
  }
}

/** Whatever an entry opens of a document, it opens its columns. */
const wholly = (entry: ScopeEntry): ScopeEntry => ({ ...entry, fields: ['title', 'body'] })

const isUnfiltered = ({ filters }: { readonly filters: SearchFilters }): boolean =>
  isDeepStrictEqual(filters, noFilters)

const partOf = ({ segments, generation }: SearchView, part: IndexPart): SearchView => ({
  segments: segmentsOf(part, segments),
  generation,
})

function wholeNumber(value: number): number {
  return Number.isFinite(value) ? Math.max(0, Math.trunc(value)) : 0
}
