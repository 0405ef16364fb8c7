import { segmentChunksMax } from '../format/segment-data.ts'
import { dimensionsMax } from '../format/vector-column.ts'
import { blockTerms, groupLetters, groupsOfBlock, shapeOffsets } from '../memory/term-shapes.ts'
import { timeRulesMax } from './compile-filter.ts'

/**
 * The layout of the kernels' own memories, declared once. `kernel-memory.ts` opens them for the TypeScript that calls a
 * kernel. The WebAssembly text has the names in braces, and `scripts/check-kernel.ts` replaces them by numbers when it
 * compiles the text.
 */
const bytesOfNumber = { f64: 8, f32: 4, i32: 4, u32: 4, i16: 2, u16: 2, u8: 1 } as const

/** An array of numbers, or some numbers with a name each. */
type Part = readonly [type: keyof typeof bytesOfNumber, numbers: number | readonly string[]]
export type Parts = Readonly<Record<string, Part>>

export interface Layout<P extends Parts> {
  readonly parts: P
  /** In bytes. */
  readonly offsets: Readonly<Record<keyof P & string, number>>
  /** All names that the text of the kernel may use. */
  readonly names: Readonly<Record<string, number>>
  readonly bytes: number
}

/** Parts are aligned for every type of number, and for 16 bytes at once. */
const alignment = 16

function layOut<const P extends Parts>(parts: P, otherNames: Readonly<Record<string, number>> = {}): Layout<P> {
  const offsets: Record<string, number> = {}
  const names: Record<string, number> = { ...otherNames }
  const setName = (name: string, offset: number) => {
    if (name in names) throw new Error(`a kernel has two parts with the name ${name}`)
    names[name] = offset
  }
  let end = 0
  for (const [part, [type, numbers]] of Object.entries(parts)) {
    const offset = Math.ceil(end / alignment) * alignment
    const fields = typeof numbers === 'number' ? [part] : numbers
    offsets[part] = offset
    fields.forEach((field, i) => {
      setName(field, offset + i * bytesOfNumber[type])
    })
    end = offset + bytesOfNumber[type] * (typeof numbers === 'number' ? numbers : numbers.length)
  }
  return { parts, offsets: offsets as Layout<P>['offsets'], names, bytes: end }
}

/** The number of classes that `chunkWord` can represent. */
export const kernelClassesMax = 2 ** 16
/** The number of terms of a prefix that are passed to the kernel at a time. */
export const positionsAtOnce = 16_384
export const phraseWordsMax = 1024

const bitOfEachChunk = segmentChunksMax / 32

export const keywordLayout = layOut({
  /** Weighted frequencies, by mask << 8 | code. */
  weighted: ['f64', 4 * 256],
  /** The number of candidates that a call found, and the number of postings or chunks that it deferred. */
  candidates: ['u32', 1],
  deferredCount: ['u32', 1],
  /** The offsets of the segment's sections in the arena. */
  segment: [
    'i32',
    [
      'words',
      'documents',
      'published',
      'versions',
      'titleLengths',
      'titleChunks',
      'titleStarts',
      'titleTokens',
      'bodyStarts',
      'bodyTokens',
      'tokenBytes',
      'postingStarts',
      'postingChunks',
      'postingCodes',
      'exceptions',
      'exceptionCount',
      'exceptionFrequencies',
    ],
  ],
  deletions: ['i32', ['deletedAt', 'generation']],
  /** The weight of the term, and the norm for the length of a chunk. */
  scoring: ['f64', ['weight', 'base', 'step']],
  /** The start and end of each rule's window, the mask that it then adds, and the mask at any time. */
  rulesFrom: ['f64', timeRulesMax],
  rulesTo: ['f64', timeRulesMax],
  ruleMasks: ['u8', timeRulesMax],
  ruleAlways: ['u8', timeRulesMax],
  limits: ['i32', 16],
  phrase: ['u32', phraseWordsMax],
  /** Scores by chunk, and a bit for each chunk that has one: for all clauses so far, and for one. */
  sumScores: ['f64', segmentChunksMax],
  clauseScores: ['f64', segmentChunksMax],
  sumTouched: ['i32', bitOfEachChunk],
  clauseTouched: ['i32', bitOfEachChunk],
  foundScores: ['f64', segmentChunksMax],
  foundChunks: ['u16', segmentChunksMax],
  deferred: ['u32', segmentChunksMax],
  phraseFrequencies: ['u32', segmentChunksMax],
  list: ['u16', segmentChunksMax],
  masks: ['u8', segmentChunksMax],
  table: ['u8', kernelClassesMax],
  prefixFields: ['u8', segmentChunksMax],
  prefixTitles: ['u32', bitOfEachChunk],
  prefixBodies: ['u32', bitOfEachChunk],
  termPositions: ['u32', positionsAtOnce],
  marks: ['u32', bitOfEachChunk],
  matching: ['u32', bitOfEachChunk],
  // One entry more than there are postings: an entry is written before it is counted.
  kept: ['u32', segmentChunksMax + 1],
})

/** The number of float rows that are compared at a time. */
export const floatRowsAtOnce = 4

export const vectorLayout = layOut({
  /** The distances of the 16 rows of a group. */
  distances: ['u16', 16],
  /**
   * The offsets of the parts of a column in the arena, the bytes of a binary code, and the 16-byte blocks of a row of
   * int8 codes.
   */
  column: ['i32', ['codes', 'codeBytes', 'present', 'rows', 'rowBlocks', 'scales']],
  /** The query: see `PackedQuery`. */
  codeTables: ['u8', 4 * dimensionsMax],
  components: ['i16', dimensionsMax],
  list: ['u16', segmentChunksMax],
  nearDistances: ['u16', segmentChunksMax],
  visible: ['u32', bitOfEachChunk],
  /** The number of found rows, by distance. */
  counts: ['u32', 2 ** 16],
  products: ['i32', segmentChunksMax],
  productScales: ['f32', segmentChunksMax],
  /** A vector of floats to compare with, as 64-bit numbers; the rows to compare; and their sums. */
  vector: ['f64', dimensionsMax],
  floatRows: ['f32', floatRowsAtOnce * dimensionsMax],
  floatSums: ['f64', floatRowsAtOnce * 2],
})

const groupStartBytes = 4

export const termLayout = layOut(
  {
    letterPositions: ['i32', 128],
    typed: ['i32', ['typed', 'typedRepeated', 'length', 'edits', 'missingMax', 'extraMax']],
    ranges: ['u16', 2 * groupLetters.length],
    // One entry more than there are terms: an entry is written before it is counted.
    found: ['i32', blockTerms + 1],
  },
  {
    ...shapeOffsets,
    blockTerms,
    letterGroups: groupLetters.length,
    /** The bytes of the starts of a block's groups, and those of one length. */
    blockStarts: groupStartBytes * groupsOfBlock,
    lengthStarts: groupStartBytes * groupLetters.length,
  },
)
