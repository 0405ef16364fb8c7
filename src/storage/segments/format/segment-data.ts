/**
 * One immutable segment as one run of bytes, identical in shared memory and in the durable file.
 *
 * Documents are ordered by id (UTF-8 bytes), and the chunks of a document by theirs. So a lower chunk number means an
 * earlier (document id, chunk id), and ties are broken by comparing two integers. All versions of a document are in one
 * segment and are deleted together.
 *
 * Layout: 16 bytes of header (magic, format, number of sections, total bytes), then offset and element count of every
 * section (two 32-bit numbers each), then the sections, each aligned to 8 bytes. Little-endian.
 */
const magic = 0x5445_5331
/** The format number by the bytes of a token, see `segment-tokens.ts`. */
const formatOf = { 3: 5, 4: 4 } as const
export type TokenBytes = keyof typeof formatOf
const headBytes = 16

/** Chunk numbers fit 16 bits: three bytes a posting instead of five. */
export const segmentChunksMax = 65_536

/** `text` is UTF-8; as a Buffer it is decoded in place, which is faster than a TextDecoder. */
const elementBytes = { u8: 1, u16: 2, u32: 4, f64: 8, text: 1 } as const

const sections = {
  chunkDocument: 'u16',
  chunkVersion: 'u16',
  /** The number of the combination of filter columns, see `filter-classes.ts`. */
  chunkClass: 'u32',
  /** Positions of title and body together. */
  chunkLength: 'u32',
  /**
   * Class << 16 | length: everything that a walk over postings needs of a chunk, in one array instead of two. Empty if
   * a value does not fit 16 bits; such a segment is walked without the kernel.
   */
  chunkWord: 'u32',
  /** Identifies this chunk in this segment for ever; a chunk that is rewritten gets a new key. */
  chunkKey: 'u32',
  /** Identifies the chunk's vectors in the durable file; a chunk that is rewritten with other columns keeps it. */
  vectorKey: 'u32',
  bodyStart: 'u32',
  chunkIdStart: 'u32',
  chunkIds: 'text',
  versionIdStart: 'u32',
  versionIds: 'text',
  titleStart: 'u32',
  titleLength: 'u32',
  /** By version: the first chunk of its text, which stands for the title if the body may not be searched. */
  titleChunk: 'u16',
  documentIdStart: 'u32',
  documentIds: 'text',
  documentFirstChunk: 'u32',
  /** Milliseconds since 1970; NaN if the document has none. */
  documentPublished: 'f64',
  /** NaN if the document has none. */
  documentScore: 'f64',
  /** Values as their numbers in the dictionary; 0 for none. */
  documentAuthor: 'u32',
  /** The start of each document's values, one more entry than documents; the values are concatenated. */
  topicStart: 'u32',
  topics: 'u32',
  tagStart: 'u32',
  tags: 'u32',
  classificationStart: 'u32',
  classifications: 'u32',
  /** Terms of the segment, ascending by number. */
  term: 'u32',
  postingStart: 'u32',
  postingChunk: 'u16',
  /** Title frequency in the upper two bits, body frequency in the lower six; 255 for an exception. */
  postingFrequency: 'u8',
  /** Ascending numbers of the exceptional postings, and their frequencies: title << 16 | body. */
  exceptionPosting: 'u32',
  exceptionFrequency: 'u32',
  bodyTokens: 'token',
  titleTokens: 'token',
  /** The chunks that may contain two terms in a row: a Bloom filter of pairs. */
  pairSlices: 'u32',
} as const

export type SectionName = keyof typeof sections
const sectionNames = Object.keys(sections) as SectionName[]

interface ElementArrays {
  /** As bytes of any width. */
  token: Uint8Array<ArrayBufferLike>
  u8: Uint8Array<ArrayBufferLike>
  u16: Uint16Array<ArrayBufferLike>
  u32: Uint32Array<ArrayBufferLike>
  f64: Float64Array<ArrayBufferLike>
  text: Buffer<ArrayBufferLike>
}

export type SegmentSections = { readonly [Name in SectionName]: ElementArrays[(typeof sections)[Name]] }

export interface SegmentData extends SegmentSections {
  readonly bytes: number
  readonly tokenBytes: TokenBytes
  readonly chunks: number
  readonly documents: number
  readonly versions: number
  readonly terms: number
}

function bytesOfElement(element: keyof ElementArrays, tokenBytes: TokenBytes): number {
  return element === 'token' ? tokenBytes : elementBytes[element]
}

function alignedTo8(bytes: number): number {
  return (bytes + 7) & ~7
}

/** The sections that segment data is made from; texts are plain bytes. */
type SegmentParts = {
  readonly [Name in SectionName]: (typeof sections)[Name] extends 'text'
    ? Uint8Array<ArrayBufferLike>
    : ElementArrays[(typeof sections)[Name]]
}

export function writeSegmentData(parts: SegmentParts & Pick<SegmentData, 'tokenBytes'>): Uint8Array<ArrayBuffer> {
  const directoryBytes = sectionNames.length * 8
  let total = alignedTo8(headBytes + directoryBytes)
  for (const name of sectionNames) total += alignedTo8(parts[name].byteLength)
  const image = new Uint8Array(total)
  const head = new Uint32Array(image.buffer, 0, (headBytes + directoryBytes) / 4)
  head.set([magic, formatOf[parts.tokenBytes], sectionNames.length, total])
  let at = alignedTo8(headBytes + directoryBytes)
  sectionNames.forEach((name, i) => {
    const part = parts[name]
    head[4 + i * 2] = at
    head[5 + i * 2] = part.byteLength / bytesOfElement(sections[name], parts.tokenBytes)
    image.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength), at)
    at += alignedTo8(part.byteLength)
  })
  return image
}

/**
 * Opens views without copying. Throws if the bytes are not segment data of this format, which the caller treats as
 * damage.
 */
export function openSegmentData(bytes: Uint8Array<ArrayBufferLike>): SegmentData {
  const head = new Uint32Array(bytes.buffer, bytes.byteOffset, 4 + sectionNames.length * 2)
  const tokenBytes = ([3, 4] as const).find((width) => formatOf[width] === head[1])
  const isWhole = head[0] === magic && head[2] === sectionNames.length && head[3] === bytes.length
  if (tokenBytes === undefined || !isWhole) throw new Error('not segment data of this format')
  const parts: Partial<Record<SectionName, ElementArrays[keyof ElementArrays]>> = {}
  sectionNames.forEach((name, i) => {
    const offset = head[4 + i * 2]!
    const length = head[5 + i * 2]!
    const element = sections[name]
    const sectionBytes = length * bytesOfElement(element, tokenBytes)
    if (offset + sectionBytes > bytes.length) throw new Error(`section ${name} leaves its segment`)
    parts[name] = viewOf(element, bytes, offset, element === 'token' ? sectionBytes : length)
  })
  const opened = parts as SegmentSections
  return {
    ...opened,
    bytes: bytes.length,
    tokenBytes,
    chunks: opened.chunkClass.length,
    documents: opened.documentPublished.length,
    versions: opened.titleLength.length,
    terms: opened.term.length,
  }
}

function viewOf(element: keyof ElementArrays, bytes: Uint8Array<ArrayBufferLike>, offset: number, length: number) {
  const at = bytes.byteOffset + offset
  switch (element) {
    case 'u8':
    case 'token':
      return new Uint8Array(bytes.buffer, at, length)
    case 'u16':
      return new Uint16Array(bytes.buffer, at, length)
    case 'u32':
      return new Uint32Array(bytes.buffer, at, length)
    case 'f64':
      return new Float64Array(bytes.buffer, at, length)
    case 'text':
      return Buffer.from(bytes.buffer as ArrayBuffer, at, length)
  }
}

/** Bytes by purpose, for an operator. */
export function bytesByPurpose(
  image: SegmentData,
): Record<'postings' | 'tokens' | 'pairs' | 'ids' | 'columns', number> {
  const postings: readonly SectionName[] = [
    'term',
    'postingStart',
    'postingChunk',
    'postingFrequency',
    'exceptionPosting',
    'exceptionFrequency',
  ]
  const tokens: readonly SectionName[] = ['bodyTokens', 'titleTokens', 'bodyStart', 'titleStart']
  const ids: readonly SectionName[] = [
    'chunkIds',
    'chunkIdStart',
    'versionIds',
    'versionIdStart',
    'documentIds',
    'documentIdStart',
  ]
  const sum = (names: readonly SectionName[]) => names.reduce((bytes, name) => bytes + image[name].byteLength, 0)
  const known = { postings: sum(postings), tokens: sum(tokens), pairs: sum(['pairSlices']), ids: sum(ids) }
  return { ...known, columns: image.bytes - known.postings - known.tokens - known.pairs - known.ids }
}

function textAt(bytes: Buffer<ArrayBufferLike>, starts: Uint32Array<ArrayBufferLike>, at: number): string {
  return bytes.toString('utf8', starts[at]!, starts[at + 1]!)
}

export const documentIdAt = (image: SegmentData, document: number): string =>
  textAt(image.documentIds, image.documentIdStart, document)
export const versionIdAt = (image: SegmentData, version: number): string =>
  textAt(image.versionIds, image.versionIdStart, version)
export const chunkIdAt = (image: SegmentData, chunk: number): string =>
  textAt(image.chunkIds, image.chunkIdStart, chunk)

export function compareBytes(
  a: Uint8Array<ArrayBufferLike>,
  aFrom: number,
  aTo: number,
  b: Uint8Array<ArrayBufferLike>,
  bFrom: number,
  bTo: number,
): number {
  const common = Math.min(aTo - aFrom, bTo - bFrom)
  for (let i = 0; i < common; i++) {
    const difference = a[aFrom + i]! - b[bFrom + i]!
    if (difference !== 0) return difference
  }
  return aTo - aFrom - (bTo - bFrom)
}

export function compareDocumentIds(a: SegmentData, documentA: number, b: SegmentData, documentB: number): number {
  return compareBytes(
    a.documentIds,
    a.documentIdStart[documentA]!,
    a.documentIdStart[documentA + 1]!,
    b.documentIds,
    b.documentIdStart[documentB]!,
    b.documentIdStart[documentB + 1]!,
  )
}

/** The first document of the segment whose id is not below `id`. */
export function lowerBoundDocument(image: SegmentData, id: Uint8Array): number {
  const { documentIds: ids, documentIdStart: starts } = image
  const shared = sharedPrefix(image)
  const order = compareBytes(ids, 0, shared, id, 0, Math.min(shared, id.length))
  if (order !== 0) return order < 0 ? image.documents : 0
  let low = 0
  let high = image.documents
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareBytes(ids, starts[middle]! + shared, starts[middle + 1]!, id, shared, id.length) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** The length of the prefix that all ids of the segment share, which is that of the first and the last id. */
function sharedPrefix({ documentIds: ids, documentIdStart: starts, documents }: SegmentData): number {
  if (documents === 0) return 0
  const last = starts[documents - 1]!
  const most = Math.min(starts[1]!, starts[documents]! - last)
  let shared = 0
  while (shared < most && ids[shared] === ids[last + shared]) shared++
  return shared
}

/** | -1 if the segment does not hold the document. */
export function findDocument(image: SegmentData, id: Uint8Array): number {
  const at = lowerBoundDocument(image, id)
  if (at === image.documents) return -1
  const { documentIds: ids, documentIdStart: starts } = image
  return compareBytes(ids, starts[at]!, starts[at + 1]!, id, 0, id.length) === 0 ? at : -1
}

/** The position of the term in the segment's list, -1 if it is not there. */
export function findTerm({ term: terms }: SegmentData, term: number): number {
  let low = 0
  let high = terms.length - 1
  // Most terms are in one segment only, and segments before it have lower numbers.
  if (high < 0 || term > terms[high]!) return -1
  while (low <= high) {
    const middle = (low + high) >>> 1
    const found = terms[middle]!
    if (found === term) return middle
    if (found < term) low = middle + 1
    else high = middle - 1
  }
  return -1
}

/** The range of a term's postings. */
export function postingRangeOf(image: SegmentData, term: number): [from: number, end: number] {
  const found = findTerm(image, term)
  return found < 0 ? [0, 0] : [image.postingStart[found]!, image.postingStart[found + 1]!]
}

/** The position of the first of the ascending numbers in a range that is not below `number`; the end if all are. */
export function lowerBound(list: Uint16Array<ArrayBufferLike>, number: number, from: number, end: number): number {
  let low = from
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list[middle]! < number) low = middle + 1
    else high = middle
  }
  return low
}

/** The fields that a posting covers: 1 title, 2 body. */
export function fieldsAt(image: SegmentData, posting: number): number {
  const code = image.postingFrequency[posting]!
  const frequency = code === exceptionCode ? frequencyAt(image, posting) : ((code >>> 6) << 16) | (code & 63)
  return (frequency > 0xffff ? 1 : 0) | ((frequency & 0xffff) > 0 ? 2 : 0)
}

/** The frequencies of a posting, title << 16 | body. */
export function frequencyAt(image: SegmentData, posting: number): number {
  const code = image.postingFrequency[posting]!
  if (code !== exceptionCode) return ((code >>> 6) << 16) | (code & 63)
  const list = image.exceptionPosting
  let low = 0
  let high = list.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list[middle]! < posting) low = middle + 1
    else high = middle
  }
  return image.exceptionFrequency[low]!
}

export const exceptionCode = 255
