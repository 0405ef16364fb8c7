import { readFileSync } from 'node:fs'
import { countBits } from '../format/count-bits.ts'
import { exceptionCode, segmentChunksMax } from '../format/segment-image.ts'
import { tokenNumber } from '../format/segment-tokens.ts'
import { hasDeaths, type Segment } from '../memory/segment.ts'
import type { BegunChunks } from './begun-chunks.ts'
import { weighFrequency } from './chunk-scorer.ts'
import { type CompiledFilter, timeRulesMax } from './compile-filter.ts'
import { GatheredScores } from './gathered-scores.ts'
import {
  begunScore,
  DocumentOffers,
  KeywordKernel,
  postingRangeOf,
  postingScore,
  type VisitedSegment,
  type WalkedSegment,
} from './keyword-kernel.ts'
import type { KeywordPlan, PlannedAlternative, PlannedBeginning, PlannedTerm } from './plan-keyword.ts'
import type { Sieve } from './sift-chunks.ts'
import type { TopDocuments } from './top-documents.ts'

/** The classes that a chunk's word can name. */
const kernelClassesMax = 2 ** 16

/** The length that a chunk's word can tell. */
const wordLengthMax = 2 ** 16 - 1

/** Terms of a beginning that are given to the kernel at a time. */
const placesAtOnce = 16_384

/** Places in the kernel's own memory; those above `limitsAt`, but for the phrase, are known to `keyword-kernel.wat`. */
const weightedAt = 0
const candidatesAt = 8192
const phraseAt = 8256
const phraseWordsMax = 1024
const rulesFromAt = 12_352
const rulesToAt = 12_864
const ruleMasksAt = 13_376
const ruleAlwaysAt = 13_440
const limitsAt = 13_504
const sumScoresAt = 16_384
const clauseScoresAt = sumScoresAt + segmentChunksMax * 8
const foundScoresAt = clauseScoresAt + segmentChunksMax * 8
const sumTouchedAt = foundScoresAt + segmentChunksMax * 8
const clauseTouchedAt = sumTouchedAt + segmentChunksMax / 8
const offAt = clauseTouchedAt + segmentChunksMax / 8
const frequenciesAt = offAt + segmentChunksMax * 4
const foundChunksAt = frequenciesAt + segmentChunksMax * 4
const listAt = foundChunksAt + segmentChunksMax * 2
const tableAt = listAt + segmentChunksMax * 2
const begunFieldsAt = tableAt + kernelClassesMax
const begunTitlesAt = begunFieldsAt + segmentChunksMax
const begunBodiesAt = begunTitlesAt + segmentChunksMax / 8
const placesAt = begunBodiesAt + segmentChunksMax / 8
const masksAt = placesAt + placesAtOnce * 4
const marksAt = masksAt + segmentChunksMax
const notedAt = marksAt + segmentChunksMax / 8
const keptAt = notedAt + segmentChunksMax / 8
// One more place than there are postings: what is looked at is written before it is counted.
const scratchPages = Math.ceil((keptAt + (segmentChunksMax + 1) * 4) / 65_536)

/** Postings, and words of 32 chunks, between two looks at the threshold: it rises fast in the first segment. */
const postingsAtOnce = 4096
const wordsAtOnce = 128
/** The kernel notes the groups it saw in the bits of one number. */
const groupsMax = 31

interface KernelExports {
  mark(...pointersAndNumbers: number[]): void
  sift(...pointersAndNumbers: number[]): number
  gather(...pointersAndNumbers: number[]): void
  add_gathered(...pointersAndNumbers: number[]): void
  alone(...pointersAndNumbers: number[]): number
  rank(...pointersAndNumbers: number[]): number
  phrases(...pointersAndNumbers: number[]): void
  note_begun(...pointersAndNumbers: number[]): void
  take_begun(...pointersAndNumbers: number[]): number
  sift_begun(...pointersAndNumbers: number[]): number
  gather_begun(...pointersAndNumbers: number[]): void
  visible(...pointersAndNumbers: number[]): number
  keep_written(...pointersAndNumbers: number[]): number
}

type TakeScore = (chunk: number, score: number) => void

/** `keyword-kernel.wasm`, one instance for each arena: three times as fast, with the same results. */
export class SimdKeywordKernel extends KeywordKernel {
  readonly #memories: readonly WebAssembly.Memory[]
  readonly #module = new WebAssembly.Module(readFileSync(new URL('keyword-kernel.wasm', import.meta.url)))
  readonly #instances = new Map<WebAssembly.Memory, KernelExports>()
  readonly #scratch: WebAssembly.Memory
  readonly #weighted: Float64Array
  readonly #counts: Uint32Array
  readonly #limits: Int32Array
  readonly #rulesFrom: Float64Array
  readonly #rulesTo: Float64Array
  readonly #ruleMasks: Uint8Array
  readonly #ruleAlways: Uint8Array
  readonly #phrase: Uint32Array
  readonly #off: Uint32Array
  readonly #phraseFrequencies: Uint32Array
  readonly #foundChunks: Uint16Array
  readonly #foundScores: Float64Array
  readonly #list: Uint16Array
  readonly #table: Uint8Array
  readonly #begunTitles: Uint32Array
  readonly #begunBodies: Uint32Array
  readonly #places: Uint32Array
  readonly #masks: Uint8Array
  readonly #marks: Uint32Array
  readonly #noted: Uint32Array
  /** What frequencies are weighted for. */
  #titleWeight = NaN
  /** The visible chunks of the segment, while it is sifted. */
  #sifted: Uint32Array | null = null

  constructor(memories: readonly WebAssembly.Memory[]) {
    const scratch = new WebAssembly.Memory({ initial: scratchPages })
    const buffer = scratch.buffer as ArrayBuffer
    const gathered = (scores: number, touched: number) =>
      new GatheredScores(
        new Float64Array(buffer, scores, segmentChunksMax),
        new Int32Array(buffer, touched, segmentChunksMax / 32),
      )
    super(gathered(sumScoresAt, sumTouchedAt), gathered(clauseScoresAt, clauseTouchedAt))
    this.#memories = memories
    this.#scratch = scratch
    this.#weighted = new Float64Array(buffer, weightedAt, 4 * 256)
    this.#counts = new Uint32Array(buffer, candidatesAt, 2)
    this.#limits = new Int32Array(buffer, limitsAt, 16).fill(-2)
    this.#rulesFrom = new Float64Array(buffer, rulesFromAt, timeRulesMax)
    this.#rulesTo = new Float64Array(buffer, rulesToAt, timeRulesMax)
    this.#ruleMasks = new Uint8Array(buffer, ruleMasksAt, timeRulesMax)
    this.#ruleAlways = new Uint8Array(buffer, ruleAlwaysAt, timeRulesMax)
    this.#phrase = new Uint32Array(buffer, phraseAt, phraseWordsMax)
    this.#off = new Uint32Array(buffer, offAt, segmentChunksMax)
    this.#phraseFrequencies = new Uint32Array(buffer, frequenciesAt, segmentChunksMax)
    this.#foundChunks = new Uint16Array(buffer, foundChunksAt, segmentChunksMax)
    this.#foundScores = new Float64Array(buffer, foundScoresAt, segmentChunksMax)
    this.#list = new Uint16Array(buffer, listAt, segmentChunksMax)
    this.#table = new Uint8Array(buffer, tableAt, kernelClassesMax)
    this.#begunTitles = new Uint32Array(buffer, begunTitlesAt, segmentChunksMax / 32)
    this.#begunBodies = new Uint32Array(buffer, begunBodiesAt, segmentChunksMax / 32)
    this.#places = new Uint32Array(buffer, placesAt, placesAtOnce)
    this.#masks = new Uint8Array(buffer, masksAt, segmentChunksMax)
    this.#marks = new Uint32Array(buffer, marksAt, segmentChunksMax / 32)
    this.#noted = new Uint32Array(buffer, notedAt, segmentChunksMax / 32)
  }

  /** A chunk outside the scope has mask 0, for which every frequency is 0: it counts for nothing without a branch. */
  override begin(filter: CompiledFilter, titleWeight: number): void {
    this.#table.set(filter.table.subarray(0, kernelClassesMax))
    for (const [i, { from, to, mask, always }] of filter.timeRules.entries()) {
      this.#rulesFrom[i] = from
      this.#rulesTo[i] = to
      this.#ruleMasks[i] = mask
      this.#ruleAlways[i] = always
    }
    if (titleWeight === this.#titleWeight) return
    this.#titleWeight = titleWeight
    for (let mask = 1; mask < 4; mask++) {
      for (let code = 0; code < exceptionCode; code++) {
        const frequency = ((code >>> 6) << 16) | (code & 63)
        this.#weighted[(mask << 8) | code] = weighFrequency(frequency, mask, titleWeight)
      }
    }
  }

  override gatherBegun({ arena, image }: Segment, places: Uint32Array<ArrayBufferLike>): BegunChunks {
    const kernel = this.#kernelFor(arena)
    for (let from = 0; from < places.length; from += placesAtOnce) {
      const some = places.subarray(from, from + placesAtOnce)
      this.#places.set(some)
      kernel.note_begun(
        placesAt,
        some.length,
        begunFieldsAt,
        image.postingStart.byteOffset,
        image.postingChunk.byteOffset,
        image.postingFrequency.byteOffset,
        image.exceptionPosting.byteOffset,
        image.exceptionPosting.length,
        image.exceptionFrequency.byteOffset,
      )
    }
    const words = (image.chunks + 31) >>> 5
    const count = kernel.take_begun(begunFieldsAt, words, begunTitlesAt, begunBodiesAt)
    return { titles: this.#begunTitles.slice(0, words), bodies: this.#begunBodies.slice(0, words), count }
  }

  override sift(walked: WalkedSegment, visible: Uint32Array, sieve: Sieve): void {
    if (!isWalkable(walked)) return
    this.#sifted = visible
    const kernel = this.#kernelFor(walked.arena)
    const { postingChunk, postingFrequency } = walked.image
    for (const { term, codeLeast } of sieve) {
      const [from, end] = postingRangeOf(walked.image, term)
      if (from === end) continue
      const chunks = postingChunk.byteOffset + from * 2
      kernel.mark(chunks, postingFrequency.byteOffset + from, end - from, codeLeast, marksAt)
    }
    for (let i = 0; i < visible.length; i++) this.#marks[i]! &= visible[i]!
  }

  override add(walked: WalkedSegment, planned: PlannedAlternative): void {
    if (!isWalkable(walked)) super.add(walked, planned)
    else this.#gather(walked, planned, this.sum, false)
  }

  override raise(walked: WalkedSegment, planned: PlannedAlternative, gathered: GatheredScores): void {
    if (!isWalkable(walked)) super.raise(walked, planned, gathered)
    else this.#gather(walked, planned, gathered, true)
  }

  override addClause({ arena, image }: WalkedSegment): void {
    const words = (image.chunks + 31) >>> 5
    this.#kernelFor(arena).add_gathered(clauseTouchedAt, clauseScoresAt, words, sumTouchedAt, sumScoresAt)
  }

  override alone(walked: WalkedSegment, alternatives: readonly PlannedAlternative[], top: TopDocuments): number {
    if (!isWalkable(walked)) return super.alone(walked, alternatives, top)
    const [first] = alternatives
    if (alternatives.length === 1 && !('lists' in first!)) return this.#aloneTerm(walked, first!, top)
    const sifted = alternatives.findLast((planned) => 'lists' in planned)
    for (const planned of alternatives) if (planned !== sifted) this.#gather(walked, planned, this.sum, true)
    return sifted === undefined ? this.rank(walked, top) : this.#siftBegun(walked, sifted, top)
  }

  #aloneTerm(walked: WalkedSegment, term: PlannedTerm, top: TopDocuments): number {
    const { image } = walked
    const kernel = this.#kernelFor(walked.arena)
    const documents = new DocumentOffers(image, top)
    let matches = 0
    const [first, last] = postingRangeOf(image, term.term)
    for (let from = first; from < last; from += postingsAtOnce) {
      const end = Math.min(last, from + postingsAtOnce)
      const found = kernel.alone(
        ...postingsFrom(walked, from, end),
        ...scoring(walked, term.weight),
        top.thresholdFrom(image.chunkDocument[image.postingChunk[from]!]!),
        foundChunksAt,
        foundScoresAt,
      )
      if (this.#counts[1] === 0) {
        matches += found
        this.#offer(documents)
        continue
      }
      // Some need a closer look, and documents must come in order: the whole block goes the slow way.
      for (let posting = from; posting < end; posting++) {
        const score = postingScore(walked, posting, term.weight)
        if (score === 0) continue
        matches++
        documents.take(image.postingChunk[posting]!, score)
      }
    }
    documents.end()
    return matches
  }

  override rank(walked: WalkedSegment, top: TopDocuments): number {
    return this.#rank(walked, top, () => 0) + this.#endSifting()
  }

  /** Returns how many chunks match that were not scored. */
  #endSifting(): number {
    const visible = this.#sifted
    if (visible === null) return 0
    let count = 0
    for (let i = 0; i < visible.length; i++) count += countBits(this.#noted[i]! & visible[i]! & ~this.#marks[i]!)
    this.#marks.fill(0, 0, visible.length)
    this.#noted.fill(0, 0, visible.length)
    this.#sifted = null
    return count
  }

  /** `before` hears of each portion, 32 chunks a word, and returns how many match in it that have no score. */
  #rank(
    { image, arena }: WalkedSegment,
    top: TopDocuments,
    before: (first: number, count: number, threshold: number) => number,
  ): number {
    const kernel = this.#kernelFor(arena)
    const documents = new DocumentOffers(image, top)
    const words = (image.chunks + 31) >>> 5
    let matches = 0
    for (let first = 0; first < words; first += wordsAtOnce) {
      const count = Math.min(wordsAtOnce, words - first)
      const threshold = top.thresholdFrom(image.chunkDocument[32 * first]!)
      matches += before(first, count, threshold)
      matches += kernel.rank(sumTouchedAt, sumScoresAt, first, count, threshold, foundChunksAt, foundScoresAt)
      this.#offer(documents)
    }
    documents.end()
    return matches
  }

  override phrases(
    walked: WalkedSegment,
    groups: readonly (readonly number[])[],
    list: Uint16Array,
    count: number,
  ): Uint32Array {
    const terms = groups.flat()
    if (groups.length > groupsMax || groups.length + 2 + terms.length > phraseWordsMax) {
      return super.phrases(walked, groups, list, count)
    }
    let start = 0
    const starts = groups.map((group) => {
      start += group.length
      return start
    })
    const { image, arena } = walked
    this.#phrase.set([groups.length, 0, ...starts, ...terms.map((term) => tokenNumber(image, term))])
    this.#list.set(list.subarray(0, count))
    this.#kernelFor(arena).phrases(
      listAt,
      count,
      image.chunkVersion.byteOffset,
      image.titleStart.byteOffset,
      image.titleTokens.byteOffset,
      image.bodyStart.byteOffset,
      image.bodyTokens.byteOffset,
      image.tokenBytes,
      phraseAt,
      frequenciesAt,
    )
    return this.#phraseFrequencies
  }

  override keepVisible(
    visited: VisitedSegment,
    from: number,
    count: number,
    chunks: Uint16Array,
    masks: Uint8Array,
  ): number {
    if (!isWalkable(visited)) return super.keepVisible(visited, from, count, chunks, masks)
    const postings = postingsFrom(visited, from, from + count)
    const kept = this.#kernelFor(visited.arena).visible(...postings, tableAt, listAt, masksAt)
    if (kept < 0) return super.keepVisible(visited, from, count, chunks, masks)
    chunks.set(this.#list.subarray(0, kept))
    masks.set(this.#masks.subarray(0, kept))
    return kept
  }

  override keepWritten(
    { arena, image }: Pick<Segment, 'arena' | 'image'>,
    term: number,
    chunks: Uint16Array,
    masks: Uint8Array,
    count: number,
  ): number {
    const number = tokenNumber(image, term)
    if (number < 0) return 0
    this.#list.set(chunks.subarray(0, count))
    this.#masks.set(masks.subarray(0, count))
    const kept = this.#kernelFor(arena).keep_written(
      listAt,
      masksAt,
      count,
      number,
      image.chunkVersion.byteOffset,
      image.titleStart.byteOffset,
      image.titleTokens.byteOffset,
      image.bodyStart.byteOffset,
      image.bodyTokens.byteOffset,
      image.tokenBytes,
    )
    chunks.set(this.#list.subarray(0, kept))
    return kept
  }

  /** Most chunks of a short beginning are too long to be among the best: they are counted, and not scored. */
  #siftBegun(walked: WalkedSegment, { lists, weight }: PlannedBeginning, top: TopDocuments): number {
    const begun = lists.get(walked.image)!
    if (begun.count === 0) return this.rank(walked, top)
    this.#takeBegun(begun)
    const kernel = this.#kernelFor(walked.arena)
    const columns = columnsOf(walked)
    let limitsFor = -1
    return this.#rank(walked, top, (first, count, threshold) => {
      // To work them out takes as long as a portion of a rare beginning; mostly the threshold is that of the portion before.
      if (threshold !== limitsFor) this.#setLimits(walked.plan, weight, threshold)
      limitsFor = threshold
      const matches = kernel.sift_begun(
        begunTitlesAt,
        begunBodiesAt,
        first,
        count,
        ...columns,
        ...scoring(walked, weight),
        limitsAt,
        sumScoresAt,
        sumTouchedAt,
        offAt,
      )
      for (const chunk of this.#off.subarray(0, this.#counts[1]!)) {
        const score = begunScore(walked, begun, chunk, weight)
        if (score !== 0) this.sum.raise(chunk, score)
      }
      return matches
    })
  }

  /** By mask << 2 | fields: how long a chunk can be whose score is at least the threshold, given that it holds a term there. */
  #setLimits({ titleWeight, normBase, normStep }: KeywordPlan, weight: number, threshold: number): void {
    for (let mask = 1; mask < 4; mask++) {
      for (let fields = 1; fields < 4; fields++) {
        const frequency = weighFrequency(((fields >>> 1) << 16) | (fields & 1), mask, titleWeight)
        const reaches = (length: number) =>
          (weight * frequency) / (frequency + (normBase + normStep * length)) >= threshold
        this.#limits[(mask << 2) | fields] = frequency === 0 ? -2 : longestOf(reaches)
      }
    }
  }

  #takeBegun({ titles, bodies }: BegunChunks): void {
    this.#begunTitles.set(titles)
    this.#begunBodies.set(bodies)
  }

  #gather(walked: WalkedSegment, planned: PlannedAlternative, gathered: GatheredScores, raise: boolean): void {
    const isSum = gathered === this.sum
    const into = [isSum ? sumScoresAt : clauseScoresAt, isSum ? sumTouchedAt : clauseTouchedAt, offAt, raise ? 1 : 0]
    const putOff = (chunk: number, score: number) => {
      if (score === 0) return
      if (raise) gathered.raise(chunk, score)
      else gathered.add(chunk, score)
    }
    if ('lists' in planned) this.#gatherBegunScores(walked, planned, into, putOff)
    else this.#gatherTerm(walked, planned, into, putOff)
  }

  #gatherTerm(walked: WalkedSegment, { term, weight }: PlannedTerm, into: readonly number[], putOff: TakeScore): void {
    const { image, died, generation, plan } = walked
    const [from, end] = postingRangeOf(image, term)
    if (from === end) return
    const kernel = this.#kernelFor(walked.arena)
    const chunksAt = image.postingChunk.byteOffset + from * 2
    const isSifted = this.#sifted !== null
    // One by one: spread from lists they took as long as some hundred postings, at every call.
    kernel.gather(
      chunksAt,
      image.postingFrequency.byteOffset + from,
      isSifted ? kernel.sift(chunksAt, end - from, marksAt, notedAt, keptAt) : end - from,
      image.chunkWord.byteOffset,
      image.chunkDocument.byteOffset,
      image.documentPublished.byteOffset,
      hasDeaths({ image, died }) ? died.byteOffset : 0,
      generation,
      image.chunkVersion.byteOffset,
      image.titleLength.byteOffset,
      image.titleChunk.byteOffset,
      tableAt,
      weight,
      plan.normBase,
      plan.normStep,
      into[0]!,
      into[1]!,
      into[2]!,
      into[3]!,
      isSifted ? keptAt : 0,
    )
    for (let i = 0; i < this.#counts[1]!; i++) {
      const posting = from + this.#off[i]!
      putOff(image.postingChunk[posting]!, postingScore(walked, posting, weight))
    }
  }

  #gatherBegunScores(
    walked: WalkedSegment,
    { lists, weight }: PlannedBeginning,
    into: readonly number[],
    putOff: TakeScore,
  ): void {
    const begun = lists.get(walked.image)!
    if (begun.count === 0) return
    this.#takeBegun(begun)
    const bits = [begunTitlesAt, begunBodiesAt, begun.titles.length]
    const kernel = this.#kernelFor(walked.arena)
    kernel.gather_begun(...bits, ...columnsOf(walked), ...scoring(walked, weight), ...into)
    for (const chunk of this.#off.subarray(0, this.#counts[1]!)) {
      putOff(chunk, begunScore(walked, begun, chunk, weight))
    }
  }

  #offer(documents: DocumentOffers): void {
    const count = this.#counts[0]!
    for (let i = 0; i < count; i++) documents.take(this.#foundChunks[i]!, this.#foundScores[i]!)
  }

  #kernelFor(arena: number): KernelExports {
    const memory = this.#memories[arena]!
    let found = this.#instances.get(memory)
    if (found === undefined) {
      const imports = { arena: { memory }, scratch: { memory: this.#scratch } }
      found = new WebAssembly.Instance(this.#module, imports).exports as unknown as KernelExports
      this.#instances.set(memory, found)
    }
    return found
  }
}

/** The longest chunk of which it is true, as it is of all shorter ones; -1 where it is of none. */
function longestOf(isTrue: (length: number) => boolean): number {
  let low = -1
  let high = wordLengthMax
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (isTrue(middle)) low = middle
    else high = middle - 1
  }
  return low
}

function isWalkable({ image }: VisitedSegment): boolean {
  return image.chunkWord.length === image.chunks
}

/** The kernel's first arguments: the postings and the columns they look up, by their places in the arena. */
function postingsFrom(walked: VisitedSegment, from: number, end: number): number[] {
  const { postingChunk, postingFrequency } = walked.image
  return [postingChunk.byteOffset + from * 2, postingFrequency.byteOffset + from, end - from, ...columnsOf(walked)]
}

function columnsOf({ image, died, generation }: VisitedSegment): number[] {
  return [
    image.chunkWord.byteOffset,
    image.chunkDocument.byteOffset,
    image.documentPublished.byteOffset,
    hasDeaths({ image, died }) ? died.byteOffset : 0,
    generation,
    image.chunkVersion.byteOffset,
    image.titleLength.byteOffset,
    image.titleChunk.byteOffset,
  ]
}

function scoring({ plan }: WalkedSegment, weight: number): number[] {
  return [tableAt, weight, plan.normBase, plan.normStep]
}
