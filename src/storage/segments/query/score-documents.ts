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

/** The position of a document: the number of its segment in a view, and its number there. */
interface Place {
  readonly segment: number
  readonly document: number
}

/**
 * One score for each document, `null` if no chunk matches or can be compared; `null` instead of the list if the time
 * ran out.
 */
export type Scores = readonly (ChunkScore | null)[] | null

/** Documents of one segment, in its order, so that postings are walked in one direction. */
interface Placed {
  readonly number: number
  readonly segment: Segment
  /** `at`: the index of the document in the request. */
  readonly documents: { readonly at: number; readonly document: number }[]
}

interface Contender extends Candidate {
  readonly at: number
}

/** `null` for a document that does not exist. */
export function placesOf({ segments, generation }: SearchView, documentIds: readonly string[]): (Place | null)[] {
  const encoder = new TextEncoder()
  return documentIds.map((id) => {
    const bytes = encoder.encode(id)
    for (const [segment, { image, deletedAt }] of segments.entries()) {
      const document = findDocument(image, bytes)
      if (document >= 0 && deletedAt[image.documentFirstChunk[document]!]! > generation) return { segment, document }
    }
    return null
  })
}

function bySegment({ segments }: SearchView, places: readonly (Place | null)[]): Placed[] {
  const placed = segments.map((segment, number): Placed => ({ number, segment, documents: [] }))
  for (const [at, place] of places.entries()) {
    if (place !== null) placed[place.segment]!.documents.push({ at, document: place.document })
  }
  for (const { documents } of placed) documents.sort((a, b) => a.document - b.document)
  return placed.filter(({ documents }) => documents.length > 0)
}

/** The best matching chunk of each document. */
export function scoreByWords(scoring: ScoringByWords, places: readonly (Place | null)[]): Scores {
  const { view, plan, filter, isExplained, deadline } = scoring
  const scores = new Array<ChunkScore | null>(places.length).fill(null)
  if (plan.empty) return scores
  for (const { segment, documents } of bySegment(view, places)) {
    if (performance.now() > deadline) return null
    const { image } = segment
    const scorer = new ChunkScorer(image, plan)
    for (const { at, document } of documents) {
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
      if (bestChunk < 0) continue
      const parts = isExplained[at] ? { parts: scorer.parts(bestChunk, filter.maskOf(image, bestChunk)) } : {}
      scores[at] = { ...chunkScore(image, bestChunk, best), ...parts }
    }
  }
  return scores
}

/** The nearest chunk of each document. */
export function scoreByVector(scoring: ScoringByVector, places: readonly (Place | null)[]): Scores {
  const { view, deadline } = scoring
  const query = packQuery(scoring.vector)
  scoring.kernel.setQuery(query)
  const contenders: Contender[] = []
  for (const placed of bySegment(view, places)) {
    if (performance.now() > deadline) return null
    addContenders(contenders, placed, scoring, query.scale)
  }
  const cosines = exactCosines(scoring, contenders)
  if (cosines === null) return null
  const best = new Array<Candidate | null>(places.length).fill(null)
  for (const [i, { at, segment, chunk }] of contenders.entries()) {
    const score = cosines[i]!
    const before = best[at]
    if (before == null || score > before.score) best[at] = { segment, chunk, score }
  }
  return best.map((one) => one && chunkScore(view.segments[one.segment]!.image, one.chunk, one.score))
}

/** Adds the chunks of each document that may be its nearest by their int8 codes. */
function addContenders(
  contenders: Contender[],
  { number, segment, documents }: Placed,
  { profile, kernel, filter }: ScoringByVector,
  queryScale: number,
): void {
  const { image } = segment
  const open = segment.columns.get(profile)
  if (open === undefined) return
  const chunks: number[] = []
  const ends = documents.map(({ document }) => {
    for (let chunk = image.documentFirstChunk[document]!; chunk < image.documentFirstChunk[document + 1]!; chunk++) {
      const isVisible = open.column.has(chunk) && (filter.maskOf(image, chunk) & bodyMask) !== 0
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
    let least = -Infinity
    for (let i = from; i < ends[d]!; i++) least = Math.max(least, scoreOf(i) - errorOf(i))
    for (; from < ends[d]!; from++) {
      const score = scoreOf(from)
      if (score + errorOf(from) >= least) contenders.push({ at, segment: number, chunk: chunks[from]!, score })
    }
  }
}
