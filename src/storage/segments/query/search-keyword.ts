import type { CatalogColumn } from '../../../search/column-permissions.ts'
import type {
  ChunkScore,
  DocumentHit,
  KeywordOrder,
  KeywordPage,
  KeywordPosition,
} from '../../../search/search-index.ts'
import { siftPhrase } from '../format/pair-sieve.ts'
import { chunkIdAt, documentIdAt, type SegmentImage, segmentChunksMax, versionIdAt } from '../format/segment-image.ts'
import type { Place, SearchView, Segment } from '../memory/segment.ts'
import type { NumberedConditions } from './catalog-conditions.ts'
import { ChunkScorer, searchedLength, weighFrequency } from './chunk-scorer.ts'
import type { CompiledFilter } from './compile-filter.ts'
import type { GatheredScores } from './gathered-scores.ts'
import { type KeywordKernel, postingRangeOf, type WalkedSegment } from './keyword-kernel.ts'
import type { MatchingDocuments } from './matching-documents.ts'
import {
  alternativesOf,
  type KeywordPlan,
  type PlannedAlternative,
  type PlannedClause,
  type PlannedPhrase,
} from './plan-keyword.ts'
import { chunksWithAll, requiredBy } from './required-chunks.ts'
import { rounding, type Sieves, sievesFor } from './sift-chunks.ts'
import { TopDocuments } from './top-documents.ts'

export interface KeywordSearch {
  readonly view: SearchView
  readonly plan: KeywordPlan
  readonly filter: CompiledFilter
  /** The chunks of a segment that pass the filter, a bit each, where that is known and all may be searched in both fields. */
  readonly visible: (segment: Segment) => Uint32Array | null
  /** Postings in a segment from which on it is asked which of its chunks need not be scored. */
  readonly siftFrom: number
  readonly kernel: KeywordKernel
  readonly limit: number
  readonly after: KeywordPosition | null
  readonly otherChunksMax: number
  /** So many of the first hits come with the parts of their scores. */
  readonly explained: number
  readonly order: KeywordOrder
  /** What is decided by document; `null` where it is chunks alone that count. */
  readonly byDocument: ByDocument | null
  /** On the clock of `performance.now()`; looked at once a segment, so it is kept to a few milliseconds. */
  readonly deadline: number
}

export interface ByDocument {
  /** The thread's own. */
  readonly matching: MatchingDocuments
  /** Of which documents, as they are now, a column of the catalog is open; `null` for the documents themselves. */
  readonly markOpened: (image: SegmentImage, matching: MatchingDocuments, column: CatalogColumn | null) => void
  readonly conditions: NumberedConditions | null
  /** Hears of all that match. */
  readonly count: (image: SegmentImage, matching: MatchingDocuments) => void
}

/** A thread answers one call at a time, so this is its own. */
const list = new Uint16Array(segmentChunksMax)

/** A page, and where its hits lie. `null` when time ran out. */
export function searchKeyword(search: KeywordSearch): (KeywordPage & { readonly places: readonly Place[] }) | null {
  const { view, plan, limit } = search
  const images = view.segments.map((segment) => segment.image)
  const after = search.after && { ...search.after, score: rankOf(search.order, search.after.key) }
  const top = new TopDocuments(limit + 1, images, after)
  const sieves = sievesFor(plan)
  search.kernel.begin(search.filter, plan.titleWeight)
  let totalChunks = 0
  if (!plan.empty) {
    for (const i of smallestFirst(images)) {
      if (performance.now() > search.deadline) return null
      top.startSegment(i)
      totalChunks += searchSegment(search, view.segments[i]!, sieves, top)
    }
  }
  const ranked = top.ranked()
  const places = ranked.slice(0, limit)
  const hits: DocumentHit[] = []
  for (const { segment, document, chunk, score } of places) {
    if (performance.now() > search.deadline) return null
    const image = images[segment]!
    hits.push({
      documentId: documentIdAt(image, document),
      ...chunkScore(image, chunk, search.order === 'relevance' ? score : scoreOf(search, image, chunk)),
      ...(hits.length < search.explained ? { parts: partsOf(search, image, chunk) } : {}),
      otherChunks: otherChunks(search, view.segments[segment]!, document, chunk),
    })
  }
  const last = hits.at(-1)
  const key = last && keyOfRank(search.order, ranked[hits.length - 1]!.score)
  const next = ranked.length > limit && last ? { key: key!, documentId: last.documentId } : null
  return { outcome: 'found', hits, totalChunks, next, places }
}

/** Small segments soon tell what a chunk must reach to be among the best: of the large ones less is looked at then. */
const smallestFirst = (images: readonly SegmentImage[]): number[] =>
  Array.from(images.keys()).sort((a, b) => images[a]!.chunks - images[b]!.chunks)

function partsOf({ plan, filter }: KeywordSearch, image: SegmentImage, chunk: number): number[] {
  return new ChunkScorer(image, plan).parts(chunk, filter.maskOf(image, chunk))
}
/** What a key counts for: the higher the better, none the least of all. */
const rankOf = (order: KeywordOrder, key: number | null): number =>
  key === null ? -Infinity : order === 'published_at' ? -key : key

const keyOfRank = (order: KeywordOrder, rank: number): number | null =>
  rank === -Infinity ? null : order === 'published_at' ? -rank : rank

/** As the kernels have it, bit by bit. */
const scoreOf = ({ plan, filter }: KeywordSearch, image: SegmentImage, chunk: number): number =>
  new ChunkScorer(image, plan).score(chunk, filter.maskOf(image, chunk))

export function chunkScore(image: SegmentImage, chunk: number, score: number): ChunkScore {
  return { chunkId: chunkIdAt(image, chunk), versionId: versionIdAt(image, image.chunkVersion[chunk]!), score }
}

function searchSegment(search: KeywordSearch, segment: Segment, sieves: Sieves, top: TopDocuments): number {
  const { plan, filter, view, kernel } = search
  const { arena, image, died } = segment
  const walked = { arena, image, died, generation: view.generation, filter, plan }
  if (plan.must.length > 0) scoreRequired(kernel, walked)
  else {
    const alone = aloneIn(plan)
    if (alone !== null && search.byDocument === null) return kernel.alone(walked, alone, top)
    const isSifted = search.byDocument === null && postingsOf(plan, image) >= search.siftFrom
    const sieve = isSifted ? sieves(image, top.threshold) : null
    const visible = sieve && search.visible(segment)
    if (visible !== null && sieve !== null) kernel.sift(walked, visible, sieve)
    for (const [i, clause] of plan.any.entries()) addClause(kernel, walked, clause, i === 0 ? 'first' : 'any')
    for (const clause of plan.mustNot) exclude(kernel, walked, clause)
    const leastScore = search.byDocument === null ? top.threshold / rounding - boostsAtMost(plan) : 0
    for (const clause of plan.boosts) boost(kernel, walked, clause, leastScore)
  }
  return search.byDocument === null
    ? kernel.rank(walked, top)
    : rankDocuments(kernel, image, search.order, search.byDocument, top)
}

/** Of the words of which one is enough. */
function postingsOf({ any }: KeywordPlan, image: SegmentImage): number {
  let postings = 0
  for (const clause of any) {
    for (const { term } of clause.type === 'word' ? clause.terms : []) {
      const [from, end] = postingRangeOf(image, term)
      postings += end - from
    }
  }
  return postings
}

/** As `kernel.rank`, of what meets the conditions, counted, and in whatever order. */
function rankDocuments(
  kernel: KeywordKernel,
  image: SegmentImage,
  order: KeywordOrder,
  { matching, markOpened, conditions, count }: ByDocument,
  top: TopDocuments,
): number {
  matching.take(kernel.sum, image)
  if (conditions !== null) {
    markOpened(image, matching, null)
    matching.keep((document, opened) => opened && conditions.hold(image, document))
  }
  count(image, matching)
  if (order === '-score') markOpened(image, matching, 'score')
  const { documents, chunks, scores, opened } = matching
  const { documentPublished, documentScore } = image
  // Ids rise with the time of ingest, and so, mostly, do times of publication: what comes first in the order comes first.
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

/** The terms and beginnings of the one word that the whole query consists of. */
function aloneIn({ any, mustNot, boosts }: KeywordPlan): readonly PlannedAlternative[] | null {
  const [first] = any
  return any.length === 1 && mustNot.length + boosts.length === 0 && first?.type === 'word'
    ? alternativesOf(first)
    : null
}

/** Before the `first` nothing has a score. */
function addClause(kernel: KeywordKernel, walked: WalkedSegment, clause: PlannedClause, kind: 'first' | 'any'): void {
  if (clause.type === 'phrase') {
    addPhrase(kernel, walked, clause, (all) =>
      keepVisible(walked, siftPhrases(walked.image, [clause], all), () => true),
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

/** Adds to what has a score already, as far as it is not too low to be among the best with all boosts. */
function boost(kernel: KeywordKernel, walked: WalkedSegment, clause: PlannedClause, leastScore: number): void {
  const { image } = walked
  if (clause.type === 'phrase') {
    addPhrase(kernel, walked, clause, (all) => siftPhrases(image, [clause], keepScored(kernel.sum, all, leastScore)))
    return
  }
  for (const alternative of alternativesOf(clause)) kernel.raise(walked, alternative, kernel.clause)
  kernel.clause.take(image.chunks, (chunk, score) => {
    if (kernel.sum.scores[chunk] !== 0) kernel.sum.add(chunk, score)
  })
}

/** What has a score is visible and alive. */
function keepScored({ scores }: GatheredScores, count: number, leastScore: number): number {
  let kept = 0
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    const score = scores[chunk]!
    if (score !== 0 && score >= leastScore) list[kept++] = chunk
  }
  return kept
}

/** What the boosts together add to a score at most. */
function boostsAtMost({ boosts }: KeywordPlan): number {
  let most = 0
  for (const clause of boosts) {
    most += clause.type === 'phrase' ? clause.weight : Math.max(...alternativesOf(clause).map(({ weight }) => weight))
  }
  return most
}

function addPhrase(
  kernel: KeywordKernel,
  walked: WalkedSegment,
  phrase: PlannedPhrase,
  keep: (count: number) => number,
): void {
  const { image, plan, filter } = walked
  const count = chunksWithAll(image, requiredBy(image, phrase), list, keep)
  if (count === 0) return
  const frequencies = kernel.phrases(walked, phrase.groups, list, count)
  for (let i = 0; i < count; i++) {
    if (frequencies[i] === 0) continue
    const chunk = list[i]!
    const mask = filter.maskOf(image, chunk)
    const found = weighFrequency(frequencies[i]!, mask, plan.titleWeight)
    if (found === 0) continue
    const norm = plan.normBase + plan.normStep * searchedLength(image, chunk, mask)
    kernel.sum.add(chunk, (phrase.weight * found) / (found + norm))
  }
}

/** Leaves those of the first `count` chunks in the list that are visible and alive. Returns how many. */
function keepVisible(walked: WalkedSegment, count: number, wanted: (chunk: number) => boolean): number {
  const { image, died, generation, filter } = walked
  let kept = 0
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    if (filter.maskOf(image, chunk) !== 0 && died[chunk]! > generation && wanted(chunk)) list[kept++] = chunk
  }
  return kept
}

/** Of the first `count` chunks in the list, leaves those in which every phrase may stand. */
function siftPhrases(image: SegmentImage, clauses: readonly PlannedClause[], count: number): number {
  return clauses.reduce(
    (left, clause) => (clause.type === 'phrase' ? siftPhrase(image, clause.groups, list, left) : left),
    count,
  )
}

/** Of the first `count` chunks in the list, leaves those in which every phrase stands somewhere. */
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
  const { image, plan, filter } = walked
  const visible = chunksWithAll(
    image,
    plan.must.flatMap((clause) => requiredBy(image, clause)),
    list,
    (all) => keepVisible(walked, siftPhrases(image, plan.must, all), () => true),
  )
  const count = keepPhrases(kernel, walked, visible, plan.must)
  if (count === 0) return
  const scorer = new ChunkScorer(image, plan)
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    kernel.sum.add(chunk, scorer.score(chunk, filter.maskOf(image, chunk)))
  }
}

/** Takes back the score of the chunks that match a negative clause in a field that may be searched. */
function exclude(kernel: KeywordKernel, walked: WalkedSegment, clause: PlannedClause): void {
  const { image, plan, filter } = walked
  const { scores } = kernel.sum
  const scored = chunksWithAll(image, requiredBy(image, clause), list, (all) =>
    keepVisible(walked, siftPhrases(image, [clause], all), (chunk) => scores[chunk] !== 0),
  )
  const count = keepPhrases(kernel, walked, scored, [clause])
  if (count === 0) return
  const scorer = new ChunkScorer(image, { ...plan, must: [], any: [clause], mustNot: [], boosts: [] })
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    if (scorer.score(chunk, filter.maskOf(image, chunk)) !== 0) scores[chunk] = 0
  }
}

function otherChunks(search: KeywordSearch, segment: Segment, document: number, best: number): ChunkScore[] {
  const { image } = segment
  const first = image.documentFirstChunk[document]!
  const end = image.documentFirstChunk[document + 1]!
  if (search.otherChunksMax <= 0 || end - first < 2) return []
  const scorer = new ChunkScorer(image, search.plan)
  const found: { chunk: number; score: number }[] = []
  for (let chunk = first; chunk < end; chunk++) {
    if (chunk === best) continue
    const score = scorer.score(chunk, search.filter.maskOf(image, chunk))
    if (score !== 0) found.push({ chunk, score })
  }
  found.sort((a, b) => b.score - a.score || a.chunk - b.chunk)
  return found.slice(0, search.otherChunksMax).map(({ chunk, score }) => chunkScore(image, chunk, score))
}
