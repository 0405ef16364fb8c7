import type { ChunkScore, DocumentHit, KeywordPage, VectorPage } from '../../../search/search-index.ts'
import type { Segment } from '../memory/segment.ts'
import type { Outcome, ReaderCall, SearchReply, SplitCall } from './reader-calls.ts'

/**
 * One search by several threads, each over a part of the segments. A document lies in one segment, so what the parts find
 * has no document in common and is put together by its order alone.
 */
export interface IndexPart {
  readonly number: number
  readonly of: number
}

export const wholeIndex: IndexPart = { number: 0, of: 1 }

/** Counts of the parts would have to be added up value by value, and hits do not tell another order than their scores'. */
export const canBeSplit = ({ call, request }: ReaderCall): boolean =>
  call === 'vector' ||
  (call === 'keyword' && request.facets === undefined && (request.order ?? 'relevance') === 'relevance')

/** What one reader is asked: a search, or its part of one. */
export interface SearchPart {
  readonly call: ReaderCall
  /** On the shared wall clock, because each thread's `performance.now()` starts at its own zero. */
  readonly deadline: number
  readonly part: IndexPart
}

/** A part's segments: the largest first, each to the part that has the least so far. The same in every thread. */
export function segmentsOf(part: IndexPart, segments: readonly Segment[]): readonly Segment[] {
  if (part.of === 1) return segments
  const chunks = new Array<number>(part.of).fill(0)
  const bySize = segments.toSorted((a, b) => b.image.chunks - a.image.chunks || a.id - b.id)
  return bySize.filter(({ image }) => {
    const least = chunks.indexOf(Math.min(...chunks))
    chunks[least]! += image.chunks
    return least === part.number
  })
}

/**
 * How many of the best of a part may be among as many of the whole: if they lie evenly, hardly ever more than three
 * deviations above the mean. Of the others nothing is told beside, for they are left out: to tell it of all took a tenth
 * of what a hybrid search asks of the index.
 */
export function likelyAmongBest(wanted: number, part: readonly Segment[], whole: readonly Segment[]): number {
  const share = chunksOf(part) / Math.max(1, chunksOf(whole))
  return Math.ceil(wanted * share + 3 * Math.sqrt(wanted * share * (1 - share)))
}

const chunksOf = (segments: readonly Segment[]): number => segments.reduce((sum, { image }) => sum + image.chunks, 0)

/** One outcome of all parts, or `null` where they saw different states of the index: nothing can be said of the whole then. */
export function mergeReplies({ call, request }: SplitCall, replies: readonly SearchReply[]): Outcome | null {
  const failed = replies.find(({ outcome }) => outcome.outcome !== 'found')
  if (failed !== undefined) return failed.outcome
  if (replies.some(({ state }) => state !== replies[0]!.state)) return null
  const pages = replies.map(({ outcome }) => outcome)
  return call === 'keyword'
    ? mergeKeyword(pages as KeywordPage[], request.limit)
    : mergeVector(pages as VectorPage[], request.topK)
}

function mergeKeyword(pages: readonly KeywordPage[], limit: number): KeywordPage {
  const ranked = pages.flatMap(({ hits }) => hits).sort(byScore)
  const hits = ranked.slice(0, limit)
  const last = hits.at(-1)
  const goesOn = ranked.length > limit || pages.some(({ next }) => next !== null)
  const totalChunks = pages.reduce((sum, page) => sum + page.totalChunks, 0)
  if (!goesOn || last === undefined) return { outcome: 'found', hits, totalChunks, next: null }
  const next = { key: last.score, documentId: last.documentId }
  return { outcome: 'found', hits, totalChunks, next, statistics: pages[0]!.statistics }
}

/** The nearest `topK` chunks of all parts, by document again: each as its part has it, but for chunks that are too far. */
function mergeVector(pages: readonly VectorPage[], topK: number): VectorPage {
  const nearest = pages
    .flatMap(({ hits }) => hits.flatMap((hit) => [hit, ...hit.otherChunks].map((chunk) => scoredChunk(hit, chunk))))
    .sort(byScore)
    .slice(0, topK)
  const kept = new Map<DocumentHit, number>()
  for (const { hit } of nearest) kept.set(hit, (kept.get(hit) ?? 0) + 1)
  const hits = Array.from(kept, ([hit, chunks]) =>
    chunks > hit.otherChunks.length ? hit : { ...hit, otherChunks: hit.otherChunks.slice(0, chunks - 1) },
  )
  return { outcome: 'found', hits, vectorsPending: pages.some((page) => page.vectorsPending) }
}

const scoredChunk = (hit: DocumentHit, { score }: ChunkScore) => ({ hit, documentId: hit.documentId, score })

interface Scored {
  readonly documentId: string
  readonly score: number
}

/** Equal scores by the bytes of the ids, as within a part; of one document the chunks stay in order. */
const byScore = (a: Scored, b: Scored): number =>
  b.score - a.score || (a.documentId === b.documentId ? 0 : Buffer.compare(bytesOf(a), bytesOf(b)))

const bytesOf = ({ documentId }: Scored): Buffer => Buffer.from(documentId)
