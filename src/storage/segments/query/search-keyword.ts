import { type GuardedColumn, scoreRow } from '../../../search/column-permissions.ts'
import type {
  ChunkScore,
  DocumentHit,
  KeywordOrder,
  KeywordPage,
  KeywordPosition,
} from '../../../search/search-index.ts'
import { bm25 } from '../../../text/bm25.ts'
import { filterPhrase } from '../format/pair-filter.ts'
import {
  chunkIdAt,
  documentIdAt,
  postingRangeOf,
  type SegmentData,
  segmentChunksMax,
  versionIdAt,
} from '../format/segment-data.ts'
import type { SearchView, Segment } from '../memory/segment.ts'
import type { NumberedConditions } from './catalog-conditions.ts'
import { ChunkScorer, searchedLength, weighFrequency } from './chunk-scorer.ts'
import type { CompiledFilter } from './compile-filter.ts'
import type { GatheredScores } from './gathered-scores.ts'
import type { KeywordKernel } from './keyword-kernel.ts'
import type { MatchingDocuments } from './matching-documents.ts'
import { type EssentialTermsOf, essentialTermsFor, rounding } from './max-score.ts'
import {
  alternativesOf,
  type KeywordPlan,
  type PlannedAlternative,
  type PlannedClause,
  type PlannedPhrase,
} from './plan-keyword.ts'
import { chunksWithAll, requiredBy } from './required-chunks.ts'
import { TopDocuments } from './top-documents.ts'
import type { WalkedSegment } from './walk-postings.ts'

export interface KeywordSearch {
  readonly view: SearchView
  readonly plan: KeywordPlan
  readonly filter: CompiledFilter
  /**
   * The chunks of a segment that pass the filter, a bit each; `null` if that is not known or some may be searched in
   * just one field.
   */
  readonly visible: (segment: Segment) => Uint32Array | null
  /** From this many postings in a segment, chunks that cannot be among the best are skipped. */
  readonly skipFrom: number
  readonly kernel: KeywordKernel
  readonly limit: number
  readonly after: KeywordPosition | null
  readonly otherChunksMax: number
  /** Hits come with the parts of their scores. */
  readonly explain: boolean
  readonly order: KeywordOrder
  /** For conditions, orders and counts, which apply to documents; `null` without them. */
  readonly byDocument: ByDocument | null
  /** On the clock of `performance.now()`; checked once for each segment, which takes a few milliseconds. */
  readonly deadline: number
}

export interface ByDocument {
  /** Shared by all searches of the thread. */
  readonly matching: MatchingDocuments
  /** Marks the documents whose column of the catalog is opened; with `null`, those that are opened at all. */
  readonly markOpened: (data: SegmentData, matching: MatchingDocuments, column: GuardedColumn | null) => void
  readonly conditions: NumberedConditions | null
  /** Called with all matching documents of a segment. */
  readonly count: (data: SegmentData, matching: MatchingDocuments) => void
}

/** A thread answers one call at a time, so one array is enough. */
const list = new Uint16Array(segmentChunksMax)

/** Returns `null` if the time ran out. */
export function searchKeyword(search: KeywordSearch): KeywordPage | null {
  const { view, plan, limit } = search
  const segmentData = view.segments.map((segment) => segment.data)
  const after = search.after && { ...search.after, score: rankOf(search.order, search.after.key) }
  const top = new TopDocuments(limit + 1, segmentData, after)
  const essentialTermsOf = essentialTermsFor(plan)
  search.kernel.begin(search.filter, plan.titleWeight)
  let totalChunks = 0
  if (!plan.empty) {
    for (const i of smallestFirst(segmentData)) {
      if (performance.now() > search.deadline) return null
      top.startSegment(i)
      totalChunks += searchSegment(search, view.segments[i]!, essentialTermsOf, top)
    }
  }
  const ranked = top.ranked()
  const hits: DocumentHit[] = []
  for (const { segment, document, chunk, score } of ranked.slice(0, limit)) {
    if (performance.now() > search.deadline) return null
    const data = segmentData[segment]!
    hits.push({
      documentId: documentIdAt(data, document),
      ...chunkScore(data, chunk, search.order === 'relevance' ? score : scoreOf(search, data, chunk)),
      ...(search.explain ? { parts: partsOf(search, data, chunk) } : {}),
      otherChunks: otherChunks(search, view.segments[segment]!, document, chunk),
    })
  }
  const last = hits.at(-1)
  const key = last && keyOfRank(search.order, ranked[hits.length - 1]!.score)
  const next = ranked.length > limit && last ? { key: key!, documentId: last.documentId } : null
  return { outcome: 'found', hits, totalChunks, next }
}

/** Small segments come first. They raise the threshold quickly, so that more of the large ones is skipped. */
const smallestFirst = (segmentData: readonly SegmentData[]): number[] =>
  Array.from(segmentData.keys()).sort((a, b) => segmentData[a]!.chunks - segmentData[b]!.chunks)

function partsOf({ plan, filter }: KeywordSearch, data: SegmentData, chunk: number): number[] {
  return new ChunkScorer(data, plan).parts(chunk, filter.maskOf(data, chunk))
}
/** The rank of a key. A higher rank is better, and the rank of null is the lowest. */
const rankOf = (order: KeywordOrder, key: number | null): number =>
  key === null ? -Infinity : order === 'published_at' ? -key : key

const keyOfRank = (order: KeywordOrder, rank: number): number | null =>
  rank === -Infinity ? null : order === 'published_at' ? -rank : rank

/** Equal to the result of the kernel, bit by bit. */
const scoreOf = ({ plan, filter }: KeywordSearch, data: SegmentData, chunk: number): number =>
  new ChunkScorer(data, plan).score(chunk, filter.maskOf(data, chunk))

export function chunkScore(data: SegmentData, chunk: number, score: number): ChunkScore {
  return { chunkId: chunkIdAt(data, chunk), versionId: versionIdAt(data, data.chunkVersion[chunk]!), score }
}

function searchSegment(
  search: KeywordSearch,
  segment: Segment,
  essentialTermsOf: EssentialTermsOf,
  top: TopDocuments,
): number {
  const { plan, filter, view, kernel } = search
  const { arena, data, deletedAt } = segment
  const walked = { arena, data, deletedAt, generation: view.generation, filter, plan }
  if (plan.must.length > 0) scoreRequired(kernel, walked)
  else {
    const alternatives = onlyWordOf(plan)
    if (alternatives !== null && search.byDocument === null) return kernel.rankAlternatives(walked, alternatives, top)
    const isSkipping = search.byDocument === null && postingsOf(plan, data) >= search.skipFrom
    const essential = isSkipping ? essentialTermsOf(data, top.threshold) : null
    const visible = essential && search.visible(segment)
    if (visible !== null && essential !== null) kernel.skip(walked, visible, essential)
    for (const [i, clause] of plan.any.entries()) addClause(kernel, walked, clause, i === 0 ? 'first' : 'any')
    for (const clause of plan.mustNot) exclude(kernel, walked, clause)
    const minScore = search.byDocument === null ? top.threshold / rounding - boostsMax(plan) : 0
    for (const clause of plan.boosts) boost(kernel, walked, clause, minScore)
  }
  return search.byDocument === null
    ? kernel.rank(walked, top)
    : rankDocuments(kernel, data, search.order, search.byDocument, top)
}

/** The number of postings of the optional words. */
function postingsOf({ any }: KeywordPlan, data: SegmentData): number {
  let postings = 0
  for (const clause of any) {
    for (const { term } of clause.type === 'word' ? clause.terms : []) {
      const [from, end] = postingRangeOf(data, term)
      postings += end - from
    }
  }
  return postings
}

/** Like `kernel.rank`, but only for documents that meet the conditions, which it also counts, and in any order. */
function rankDocuments(
  kernel: KeywordKernel,
  data: SegmentData,
  order: KeywordOrder,
  { matching, markOpened, conditions, count }: ByDocument,
  top: TopDocuments,
): number {
  matching.take(kernel.sum, data)
  if (conditions !== null) {
    markOpened(data, matching, null)
    matching.keep((document, opened) => opened && conditions.hold(data, document))
  }
  count(data, matching)
  if (order === '-score') markOpened(data, matching, scoreRow)
  const { documents, chunks, scores, opened } = matching
  const { documentPublished } = data
  const documentScore = data.catalog[scoreRow.property]!.values
  // Ids usually rise with the time of ingest, and so do publication times. So the newest documents are offered first,
  // which raises the threshold early.
  const isNewestFirst = order === '-published_at'
  for (let nth = 0; nth < matching.count; nth++) {
    const i = isNewestFirst ? matching.count - 1 - nth : nth
    const document = documents[i]!
    let rank = scores[i]!
    if (order !== 'relevance') {
      const key = order !== '-score' ? documentPublished[document]! : opened[i] === 1 ? documentScore[document]! : NaN
      rank = rankOf(order, Number.isNaN(key) ? null : key)
    }
    if (!top.isBelow(rank)) top.offer(document, chunks[i]!, rank)
  }
  return matching.totalChunks
}

/** The terms and prefixes of a query that consists of a single word; `null` for any other query. */
function onlyWordOf({ any, mustNot, boosts }: KeywordPlan): readonly PlannedAlternative[] | null {
  const [first] = any
  return any.length === 1 && mustNot.length + boosts.length === 0 && first?.type === 'word'
    ? alternativesOf(first)
    : null
}

/** The `first` clause is added directly to the sum, because no chunk has a score yet. */
function addClause(kernel: KeywordKernel, walked: WalkedSegment, clause: PlannedClause, kind: 'first' | 'any'): void {
  if (clause.type === 'phrase') {
    addPhrase(kernel, walked, clause, (all) =>
      keepVisible(walked, filterPhrases(walked.data, [clause], all), () => true),
    )
    return
  }
  const alternatives = alternativesOf(clause)
  const gathered = kind === 'first' ? kernel.sum : kernel.clause
  if (alternatives.length === 1) kernel.add(walked, alternatives[0]!)
  else {
    for (const alternative of alternatives) kernel.raise(walked, alternative, gathered)
    if (kind === 'any') kernel.addClause(walked)
  }
}

/** Adds a boost to chunks that have a score, unless the score is too low to be among the best even with all boosts. */
function boost(kernel: KeywordKernel, walked: WalkedSegment, clause: PlannedClause, minScore: number): void {
  const { data } = walked
  if (clause.type === 'phrase') {
    addPhrase(kernel, walked, clause, (all) => filterPhrases(data, [clause], keepScored(kernel.sum, all, minScore)))
    return
  }
  for (const alternative of alternativesOf(clause)) kernel.raise(walked, alternative, kernel.clause)
  kernel.clause.take(data.chunks, (chunk, score) => {
    if (kernel.sum.scores[chunk] !== 0) kernel.sum.add(chunk, score)
  })
}

/** A chunk with a score is visible and not deleted. */
function keepScored({ scores }: GatheredScores, count: number, minScore: number): number {
  let kept = 0
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    const score = scores[chunk]!
    if (score !== 0 && score >= minScore) list[kept++] = chunk
  }
  return kept
}

/** The upper bound of the sum of all boosts. */
function boostsMax({ boosts }: KeywordPlan): number {
  let sum = 0
  for (const clause of boosts) {
    sum += clause.type === 'phrase' ? clause.weight : Math.max(...alternativesOf(clause).map(({ weight }) => weight))
  }
  return sum
}

function addPhrase(
  kernel: KeywordKernel,
  walked: WalkedSegment,
  phrase: PlannedPhrase,
  keep: (count: number) => number,
): void {
  const { data, plan, filter } = walked
  const count = chunksWithAll(data, requiredBy(data, phrase), list, keep)
  if (count === 0) return
  const frequencies = kernel.phrases(walked, phrase.groups, list, count)
  for (let i = 0; i < count; i++) {
    if (frequencies[i] === 0) continue
    const chunk = list[i]!
    const mask = filter.maskOf(data, chunk)
    const found = weighFrequency(frequencies[i]!, mask, plan.titleWeight)
    if (found === 0) continue
    kernel.sum.add(chunk, bm25(phrase.weight, found, searchedLength(data, chunk, mask), plan))
  }
}

/** Keeps those of the first `count` chunks in the list that are visible and not deleted. Returns the number kept. */
function keepVisible(walked: WalkedSegment, count: number, isWanted: (chunk: number) => boolean): number {
  const { data, deletedAt, generation, filter } = walked
  let kept = 0
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    if (filter.maskOf(data, chunk) !== 0 && deletedAt[chunk]! > generation && isWanted(chunk)) list[kept++] = chunk
  }
  return kept
}

/** Keeps those of the first `count` chunks in the list that may contain every phrase. Returns the number kept. */
function filterPhrases(data: SegmentData, clauses: readonly PlannedClause[], count: number): number {
  return clauses.reduce(
    (left, clause) => (clause.type === 'phrase' ? filterPhrase(data, clause.groups, list, left) : left),
    count,
  )
}

/** Keeps those of the first `count` chunks in the list that contain every phrase. Returns the number kept. */
function keepPhrases(
  kernel: KeywordKernel,
  walked: WalkedSegment,
  count: number,
  clauses: readonly PlannedClause[],
): number {
  let left = count
  for (const clause of clauses) {
    if (clause.type !== 'phrase' || left === 0) continue
    const frequencies = kernel.phrases(walked, clause.groups, list, left)
    let kept = 0
    for (let i = 0; i < left; i++) if (frequencies[i] !== 0) list[kept++] = list[i]!
    left = kept
  }
  return left
}

function scoreRequired(kernel: KeywordKernel, walked: WalkedSegment): void {
  const { data, plan, filter } = walked
  const visible = chunksWithAll(
    data,
    plan.must.flatMap((clause) => requiredBy(data, clause)),
    list,
    (all) => keepVisible(walked, filterPhrases(data, plan.must, all), () => true),
  )
  const count = keepPhrases(kernel, walked, visible, plan.must)
  if (count === 0) return
  const scorer = new ChunkScorer(data, plan)
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    kernel.sum.add(chunk, scorer.score(chunk, filter.maskOf(data, chunk)))
  }
}

/** Removes the score of the chunks that match a negative clause in a field that may be searched. */
function exclude(kernel: KeywordKernel, walked: WalkedSegment, clause: PlannedClause): void {
  const { data, plan, filter } = walked
  const { scores } = kernel.sum
  const scored = chunksWithAll(data, requiredBy(data, clause), list, (all) =>
    keepVisible(walked, filterPhrases(data, [clause], all), (chunk) => scores[chunk] !== 0),
  )
  const count = keepPhrases(kernel, walked, scored, [clause])
  if (count === 0) return
  const scorer = new ChunkScorer(data, { ...plan, must: [], any: [clause], mustNot: [], boosts: [] })
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    if (scorer.score(chunk, filter.maskOf(data, chunk)) !== 0) scores[chunk] = 0
  }
}

function otherChunks(search: KeywordSearch, segment: Segment, document: number, best: number): ChunkScore[] {
  const { data } = segment
  const first = data.documentFirstChunk[document]!
  const end = data.documentFirstChunk[document + 1]!
  if (search.otherChunksMax <= 0 || end - first < 2) return []
  const scorer = new ChunkScorer(data, search.plan)
  const found: { chunk: number; score: number }[] = []
  for (let chunk = first; chunk < end; chunk++) {
    if (chunk === best) continue
    const score = scorer.score(chunk, search.filter.maskOf(data, chunk))
    if (score !== 0) found.push({ chunk, score })
  }
  found.sort((a, b) => b.score - a.score || a.chunk - b.chunk)
  return found.slice(0, search.otherChunksMax).map(({ chunk, score }) => chunkScore(data, chunk, score))
}
