import type { ChunkScore, DocumentHit, KeywordOutcome, KeywordPosition } from '../../search/search-index.ts'
import { ChunkScorer, weighFrequency } from './chunk-scorer.ts'
import type { CompiledFilter } from './compile-filter.ts'
import { PhraseMatcher } from './match-phrase.ts'
import type { KeywordPlan, PlannedClause, PlannedPhrase, PlannedTerm } from './plan-keyword.ts'
import { chunksWithAll, groupsOfClause } from './required-chunks.ts'
import type { SearchView, Segment } from './segment.ts'
import { chunkIdAt, documentIdAt, type SegmentImage, segmentChunksMax, versionIdAt } from './segment-image.ts'
import { TopDocuments } from './top-documents.ts'
import {
  addGathered,
  addTerm,
  FrequencyTable,
  Gathered,
  gatherTerm,
  rankGathered,
  walkOneTerm,
} from './walk-postings.ts'

export interface KeywordSearch {
  readonly view: SearchView
  readonly plan: KeywordPlan
  readonly filter: CompiledFilter
  readonly limit: number
  readonly after: KeywordPosition | null
  readonly otherChunksMax: number
  /** On the clock of `performance.now()`; looked at once a segment, so it is kept to a few milliseconds. */
  readonly deadline: number
}

/** A thread answers one call at a time, so these are its own. */
const sum = new Gathered()
const clauseOnly = new Gathered()
const list = new Uint16Array(segmentChunksMax)

export function searchKeyword(search: KeywordSearch): KeywordOutcome {
  const { view, plan, limit } = search
  const images = view.segments.map((segment) => segment.image)
  const top = new TopDocuments(limit + 1, images, search.after)
  const frequencies = new FrequencyTable(plan.titleWeight)
  let totalChunks = 0
  if (!plan.empty) {
    for (let i = 0; i < view.segments.length; i++) {
      if (performance.now() > search.deadline) return { outcome: 'timed_out' }
      top.startSegment(i)
      totalChunks += searchSegment(search, view.segments[i]!, frequencies, top)
    }
  }
  const ranked = top.ranked()
  const hits: DocumentHit[] = []
  for (const { segment, document, chunk, score } of ranked.slice(0, limit)) {
    if (performance.now() > search.deadline) return { outcome: 'timed_out' }
    const image = images[segment]!
    hits.push({
      documentId: documentIdAt(image, document),
      ...chunkScore(image, chunk, score),
      otherChunks: otherChunks(search, view.segments[segment]!, document, chunk),
    })
  }
  const last = hits.at(-1)
  const next = ranked.length > limit && last ? { score: last.score, documentId: last.documentId } : null
  return { outcome: 'found', hits, totalChunks, next }
}

export function chunkScore(image: SegmentImage, chunk: number, score: number): ChunkScore {
  return { chunkId: chunkIdAt(image, chunk), versionId: versionIdAt(image, image.chunkVersion[chunk]!), score }
}

function searchSegment(
  search: KeywordSearch,
  segment: Segment,
  frequencies: FrequencyTable,
  top: TopDocuments,
): number {
  const { plan, filter, view } = search
  const { image, died } = segment
  const walked = { image, died, generation: view.generation, filter }
  if (plan.must.length > 0) {
    scoreRequired(search, segment)
    return rankGathered(image, sum, top)
  }
  const alone = aloneTerm(plan)
  if (alone !== null) return walkOneTerm(walked, alone, plan, frequencies, top)
  for (const clause of plan.any) {
    if (clause.type === 'phrase') addPhrase(search, segment, clause, false)
    else if (clause.terms.length === 1) addTerm(walked, clause.terms[0]!, plan, frequencies, sum)
    else {
      for (const term of clause.terms) gatherTerm(walked, term, plan, frequencies, clauseOnly)
      addGathered(clauseOnly, sum, image.chunks, false)
    }
  }
  for (const clause of plan.mustNot) exclude(search, segment, clause)
  for (const clause of plan.boosts) {
    if (clause.type === 'phrase') addPhrase(search, segment, clause, true)
    else {
      for (const term of clause.terms) gatherTerm(walked, term, plan, frequencies, clauseOnly)
      addGathered(clauseOnly, sum, image.chunks, true)
    }
  }
  return rankGathered(image, sum, top)
}

/** The one term that the whole query consists of. */
function aloneTerm({ any, mustNot, boosts }: KeywordPlan): PlannedTerm | null {
  const [first] = any
  if (any.length !== 1 || mustNot.length + boosts.length > 0 || first?.type !== 'word') return null
  return first.terms.length === 1 ? first.terms[0]! : null
}

function scoreRequired({ plan, filter, view }: KeywordSearch, { image, died }: Segment): void {
  const count = chunksWithAll(image, plan.must.flatMap(groupsOfClause), list)
  if (count === 0) return
  const scorer = new ChunkScorer(image, plan)
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    const mask = filter.maskOf(image, chunk)
    if (mask === 0 || died[chunk]! <= view.generation) continue
    sum.add(chunk, scorer.score(chunk, mask))
  }
}

/** `known` only: for chunks that have a score already. */
function addPhrase(
  { plan, filter, view }: KeywordSearch,
  { image, died }: Segment,
  phrase: PlannedPhrase,
  known: boolean,
): void {
  const count = chunksWithAll(image, phrase.groups, list)
  if (count === 0) return
  const matcher = new PhraseMatcher(phrase.groups)
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    if (known && sum.scores[chunk] === 0) continue
    const mask = filter.maskOf(image, chunk)
    if (mask === 0 || died[chunk]! <= view.generation) continue
    const found = weighFrequency(matcher.frequency(image, chunk), mask, plan.titleWeight)
    if (found === 0) continue
    sum.add(chunk, (phrase.weight * found) / (found + (plan.normBase + plan.normStep * image.chunkLength[chunk]!)))
  }
}

/** Takes back the score of the chunks that match a negative clause in a field that may be searched. */
function exclude({ plan, filter }: KeywordSearch, { image }: Segment, clause: PlannedClause): void {
  const count = chunksWithAll(image, groupsOfClause(clause), list)
  if (count === 0) return
  const scorer = new ChunkScorer(image, { ...plan, must: [], any: [clause], mustNot: [], boosts: [] })
  for (let i = 0; i < count; i++) {
    const chunk = list[i]!
    if (sum.scores[chunk] !== 0 && scorer.score(chunk, filter.maskOf(image, chunk)) !== 0) sum.scores[chunk] = 0
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

/** The best matching chunk of one document, `null` when none matches. */
export function bestKeywordChunk(
  segment: Segment,
  document: number,
  plan: KeywordPlan,
  filter: CompiledFilter,
): ChunkScore | null {
  const { image } = segment
  if (plan.empty) return null
  const scorer = new ChunkScorer(image, plan)
  let best = 0
  let bestChunk = -1
  for (let chunk = image.documentFirstChunk[document]!; chunk < image.documentFirstChunk[document + 1]!; chunk++) {
    const mask = filter.maskOf(image, chunk)
    const score = mask === 0 ? 0 : scorer.score(chunk, mask)
    if (score > best) {
      best = score
      bestChunk = chunk
    }
  }
  return bestChunk < 0 ? null : chunkScore(image, bestChunk, best)
}
