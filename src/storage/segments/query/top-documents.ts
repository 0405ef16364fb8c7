import { compareDocumentIds, findDocument, lowerBoundDocument, type SegmentData } from '../format/segment-data.ts'

export interface RankedDocument {
  readonly segment: number
  readonly document: number
  readonly chunk: number
  /** The ranking key: the higher the better. */
  readonly score: number
}

/**
 * The best documents of all segments, among those after a position. A document is offered once, with its best chunk.
 *
 * They are in a heap with the worst document at the root. `threshold` is the score below which an offer has no effect;
 * callers test it before they offer.
 */
export class TopDocuments {
  threshold = 0
  readonly #limit: number
  readonly #segmentData: readonly SegmentData[]
  readonly #heap: RankedDocument[] = []
  readonly #afterScore: number
  readonly #afterId: Uint8Array | null
  /** The first document of the current segment that comes after the position at an equal score. */
  #afterDocument = 0
  #segment = 0
  /**
   * The first document of the current segment that comes after the worst one in the heap at an equal score; -1 if
   * unknown.
   */
  #tiedDocument = -1

  constructor(
    limit: number,
    segmentData: readonly SegmentData[],
    after: { readonly score: number; readonly documentId: string } | null,
  ) {
    this.#limit = limit
    this.#segmentData = segmentData
    this.#afterScore = after?.score ?? Infinity
    this.#afterId = after === null ? null : new TextEncoder().encode(after.documentId)
  }

  /** Whether an offer at this score has no effect. */
  isBelow(score: number): boolean {
    return this.#heap.length === this.#limit && score < this.threshold
  }

  /** The lowest score at which this document of the segment, or a later one, may have an effect. */
  thresholdFrom(document: number): number {
    const isFull = this.#heap.length === this.#limit && this.#limit > 0
    return isFull && this.#losesTie(document) ? nextAbove(this.threshold) : this.threshold
  }

  startSegment(segment: number): void {
    this.#segment = segment
    this.#tiedDocument = -1
    if (this.#afterId === null) return
    const data = this.#segmentData[segment]!
    this.#afterDocument = lowerBoundDocument(data, this.#afterId)
    if (findDocument(data, this.#afterId) >= 0) this.#afterDocument++
  }

  offer(document: number, chunk: number, score: number): void {
    if (score > this.#afterScore || (score === this.#afterScore && document < this.#afterDocument)) return
    const heap = this.#heap
    if (heap.length === this.#limit && score === this.threshold && this.#losesTie(document)) return
    const candidate = { segment: this.#segment, document, chunk, score }
    if (heap.length < this.#limit) {
      heap.push(candidate)
      this.#siftUp(heap.length - 1)
      if (heap.length === this.#limit) this.#setThreshold()
    } else if (heap.length > 0 && this.#compare(candidate, heap[0]!) < 0) {
      heap[0] = candidate
      this.#siftDown()
      this.#setThreshold()
    }
  }

  #setThreshold(): void {
    this.threshold = this.#heap[0]!.score
    this.#tiedDocument = -1
  }

  /** Many short texts of the same length have the same score, so their ids are not compared one by one. */
  #losesTie(document: number): boolean {
    if (this.#tiedDocument < 0) {
      const worst = this.#heap[0]!
      const { documentIds, documentIdStart } = this.#segmentData[worst.segment]!
      const id = documentIds.subarray(documentIdStart[worst.document]!, documentIdStart[worst.document + 1]!)
      this.#tiedDocument =
        worst.segment === this.#segment ? worst.document : lowerBoundDocument(this.#segmentData[this.#segment]!, id)
    }
    return document >= this.#tiedDocument
  }

  /** Best first. */
  ranked(): RankedDocument[] {
    return this.#heap.toSorted((a, b) => this.#compare(a, b))
  }

  /** Negative if `a` is the better one. */
  #compare(a: RankedDocument, b: RankedDocument): number {
    if (a.score !== b.score) return b.score - a.score
    if (a.segment === b.segment) return a.document - b.document
    return compareDocumentIds(this.#segmentData[a.segment]!, a.document, this.#segmentData[b.segment]!, b.document)
  }

  #siftUp(from: number): void {
    const heap = this.#heap
    let at = from
    while (at > 0) {
      const parent = (at - 1) >>> 1
      if (this.#compare(heap[at]!, heap[parent]!) <= 0) return
      ;[heap[at], heap[parent]] = [heap[parent]!, heap[at]!]
      at = parent
    }
  }

  #siftDown(): void {
    const heap = this.#heap
    let at = 0
    for (;;) {
      let worst = at
      for (let child = 2 * at + 1; child <= 2 * at + 2 && child < heap.length; child++) {
        if (this.#compare(heap[child]!, heap[worst]!) > 0) worst = child
      }
      if (worst === at) return
      ;[heap[at], heap[worst]] = [heap[worst]!, heap[at]!]
      at = worst
    }
  }
}

/** Offers each document once, with its best chunk. The chunks of a document arrive together, because they ascend. */
export class DocumentOffers {
  readonly #data: SegmentData
  readonly #top: TopDocuments
  #document = -1
  #chunk = 0
  #score = 0

  constructor(data: SegmentData, top: TopDocuments) {
    this.#data = data
    this.#top = top
  }

  take(chunk: number, score: number): void {
    if (score < this.#top.threshold) return
    const document = this.#data.chunkDocument[chunk]!
    if (document !== this.#document) {
      this.end()
      this.#document = document
    } else if (score <= this.#score) return
    this.#chunk = chunk
    this.#score = score
  }

  end(): void {
    if (this.#document >= 0) this.#top.offer(this.#document, this.#chunk, this.#score)
    this.#document = -1
  }
}

const float = new Float64Array(1)
const floatBits = new BigInt64Array(float.buffer)

/** The next larger number; the argument must not be negative. */
function nextAbove(number: number): number {
  float[0] = number
  floatBits[0]!++
  return float[0]
}
