import type { ChunkScore, DocumentHit, KeywordPage, VectorPage } from '../../../search/search-index.ts'
import type { Segment } from '../memory/segment.ts'
import type { Outcome, ReaderCall, SearchReply, SplitCall } from './reader-calls.ts'

/**
 * One search by several threads, each over a part of the segments. A document is in one segment only, so the parts have
 * no document in common, and their results are merged by order.
 */
export interface IndexPart {
  readonly number: number
  readonly of: number
}

export const wholeIndex: IndexPart = { number: 0, of: 1 }

/** Facet counts would have to be added value by value, and hits have no sort key except their scores. */
export const canBeSplit = ({ call, request }: ReaderCall): boolean =>
  call === 'vector' ||
  (call === 'keyword' && request.facets === undefined && (request.order ?? 'relevance') === 'relevance')

/** The task of one reader: a search, or its part of one. */
export interface SearchPart {
  readonly call: ReaderCall
  /** On the shared wall clock, because each thread's `performance.now()` starts at its own zero. */
  readonly deadline: number
  readonly part: IndexPart
}

/**
 * The segments of a part. Each segment, the largest first, goes to the part with the fewest chunks so far. The result
 * is the same in every thread.
 */
export function segmentsOf(part: IndexPart, segments: readonly Segment[]): readonly Segment[] {
  if (part.of === 1) return segments
  const chunks = new Array<number>(part.of).fill(0)
  const bySize = segments.toSorted((a, b) => b.data.chunks - a.data.chunks || a.id - b.id)
  return bySize.filter(({ data }) => {
    const smallest = chunks.indexOf(Math.min(...chunks))
    chunks[smallest]! += data.chunks
    return smallest === part.number
  })
}

/**
 * Merges the outcomes of all parts. Returns `null` if they saw different states of the index, which have no common
 * result.
 */
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
  const hasMore = ranked.length > limit || pages.some(({ next }) => next !== null)
  const totalChunks = pages.reduce((sum, page) => sum + page.totalChunks, 0)
  if (!hasMore || last === undefined) return { outcome: 'found', hits, totalChunks, next: null }
  const next = { key: last.score, documentId: last.documentId }
  return { outcome: 'found', hits, totalChunks, next, statistics: pages[0]!.statistics }
}

/**
 * The nearest `topK` chunks of all parts, grouped by document again. Each document is as in its part, without the
 * chunks that are too far.
 */
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

/** Ties are ordered by the bytes of the ids, as within a part; the chunks of one document stay in order. */
const byScore = (a: Scored, b: Scored): number =>
  b.score - a.score || (a.documentId === b.documentId ? 0 : Buffer.compare(bytesOf(a), bytesOf(b)))

const bytesOf = ({ documentId }: Scored): Buffer => Buffer.from(documentId)
