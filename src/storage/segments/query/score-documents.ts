import type { ChunkScore } from '../../../search/search-index.ts'
import { findDocument } from '../format/segment-data.ts'
import { packQuery } from '../format/vector-column.ts'
import type { SearchView, Segment } from '../memory/segment.ts'
import { ChunkScorer } from './chunk-scorer.ts'
import { type Candidate, coarseError } from './compare-int8.ts'
import { bodyMask, type CompiledFilter } from './compile-filter.ts'
import type { KeywordPlan } from './plan-keyword.ts'
import { chunkScore } from './search-keyword.ts'
import { exactCosines, type VectorSearch } from './search-vector.ts'

interface Scoring {
  readonly view: SearchView
  readonly filter: CompiledFilter
  readonly deadline: number
}

export interface ScoringByWords extends Scoring {
  readonly plan: KeywordPlan
  /** For each document, whether its score comes with its parts. */
  readonly isExplained: readonly boolean[]
}

export type ScoringByVector = Scoring & Pick<VectorSearch, 'profile' | 'vector' | 'kernel' | 'readFloats'>

/** The location of a document: the number of its segment in a view, and its number there. */
interface DocumentLocation {
  readonly segment: number
  readonly document: number
}

/**
 * One score for each document, `null` if no chunk matches or can be compared. The whole is `null` if the time ran out.
 */
export type Scores = readonly (ChunkScore | null)[] | null

/** Documents of one segment, in its order, so that postings are read in one direction. */
interface SegmentDocuments {
  readonly number: number
  readonly segment: Segment
  /** `at` is the index of the document in the request. */
  readonly documents: { readonly at: number; readonly document: number }[]
}

interface Contender extends Candidate {
  readonly at: number
}

/** Returns `null` for a document that does not exist. */
export function locateDocuments(
  { segments, generation }: SearchView,
  documentIds: readonly string[],
): (DocumentLocation | null)[] {
  const encoder = new TextEncoder()
  return documentIds.map((id) => {
    const bytes = encoder.encode(id)
    for (const [segment, { data, deletedAt }] of segments.entries()) {
      const document = findDocument(data, bytes)
      if (document >= 0 && deletedAt[data.documentFirstChunk[document]!]! > generation) return { segment, document }
    }
    return null
  })
}

function bySegment({ segments }: SearchView, locations: readonly (DocumentLocation | null)[]): SegmentDocuments[] {
  const grouped = segments.map((segment, number): SegmentDocuments => ({ number, segment, documents: [] }))
  for (const [at, location] of locations.entries()) {
    if (location !== null) grouped[location.segment]!.documents.push({ at, document: location.document })
  }
  for (const { documents } of grouped) documents.sort((a, b) => a.document - b.document)
  return grouped.filter(({ documents }) => documents.length > 0)
}

/** The best matching chunk of each document. */
export function scoreByWords(scoring: ScoringByWords, locations: readonly (DocumentLocation | null)[]): Scores {
  const { view, plan, filter, isExplained, deadline } = scoring
  const scores = new Array<ChunkScore | null>(locations.length).fill(null)
  if (plan.empty) return scores
  for (const { segment, documents } of bySegment(view, locations)) {
    if (performance.now() > deadline) return null
    const { data } = segment
    const scorer = new ChunkScorer(data, plan)
    for (const { at, document } of documents) {
      let best = 0
      let bestChunk = -1
      for (let chunk = data.documentFirstChunk[document]!; chunk < data.documentFirstChunk[document + 1]!; chunk++) {
        const mask = filter.maskOf(data, chunk)
        const score = mask === 0 ? 0 : scorer.score(chunk, mask)
        if (score > best) {
          best = score
          bestChunk = chunk
        }
      }
      if (bestChunk < 0) continue
      const parts = isExplained[at] ? { parts: scorer.parts(bestChunk, filter.maskOf(data, bestChunk)) } : {}
      scores[at] = { ...chunkScore(data, bestChunk, best), ...parts }
    }
  }
  return scores
}

/** The nearest chunk of each document. */
export function scoreByVector(scoring: ScoringByVector, locations: readonly (DocumentLocation | null)[]): Scores {
  const { view, deadline } = scoring
  const query = packQuery(scoring.vector)
  scoring.kernel.setQuery(query)
  const contenders: Contender[] = []
  for (const group of bySegment(view, locations)) {
    if (performance.now() > deadline) return null
    addContenders(contenders, group, scoring, query.scale)
  }
  const cosines = exactCosines(scoring, contenders)
  if (cosines === null) return null
  const best = new Array<Candidate | null>(locations.length).fill(null)
  for (const [i, { at, segment, chunk }] of contenders.entries()) {
    const score = cosines[i]!
    const before = best[at]
    if (before == null || score > before.score) best[at] = { segment, chunk, score }
  }
  return best.map((one) => one && chunkScore(view.segments[one.segment]!.data, one.chunk, one.score))
}

/** Adds the chunks of each document that may be its nearest by their int8 codes. */
function addContenders(
  contenders: Contender[],
  { number, segment, documents }: SegmentDocuments,
  { profile, kernel, filter }: ScoringByVector,
  queryScale: number,
): void {
  const { data } = segment
  const open = segment.columns.get(profile)
  if (open === undefined) return
  const chunks: number[] = []
  const ends = documents.map(({ document }) => {
    for (let chunk = data.documentFirstChunk[document]!; chunk < data.documentFirstChunk[document + 1]!; chunk++) {
      const isVisible = open.column.has(chunk) && (filter.maskOf(data, chunk) & bodyMask) !== 0
      if (isVisible) chunks.push(chunk)
    }
    return chunks.length
  })
  const rows = Uint16Array.from(chunks, (chunk) => open.column.rowOf(chunk))
  const { products, scales } = kernel.productsOf(open, rows)
  const scoreOf = (i: number): number => products[i]! * scales[i]! * queryScale
  const errorOf = (i: number): number => coarseError(scales[i]!, queryScale)
  let from = 0
  for (const [d, { at }] of documents.entries()) {
    let lowerBound = -Infinity
    for (let i = from; i < ends[d]!; i++) lowerBound = Math.max(lowerBound, scoreOf(i) - errorOf(i))
    for (; from < ends[d]!; from++) {
      const score = scoreOf(from)
      if (score + errorOf(from) >= lowerBound) contenders.push({ at, segment: number, chunk: chunks[from]!, score })
    }
  }
}
