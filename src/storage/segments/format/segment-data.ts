import { catalogRows } from '../../../document/rows.ts'

/**
 * An immutable segment as one sequence of bytes, identical in shared memory and in the durable file.
 *
 * Documents are ordered by id (UTF-8 bytes), and the chunks of a document by theirs. So a lower chunk number means a
 * lower (document id, chunk id), and ties are broken by comparing two integers. All versions of a document are in one
 * segment and are deleted together.
 *
 * Layout: 16 bytes of header (magic, format, number of sections, total bytes), then offset and element count of every
 * section (two 32-bit numbers each), then the sections, each aligned to 8 bytes. Little-endian.
 */
const magic = 0x5445_5331
/** The format number by the bytes of a token (`segment-tokens.ts`). */
const formatOf = { 3: 5, 4: 4 } as const
export type TokenBytes = keyof typeof formatOf
const headBytes = 16

/** Chunk numbers fit 16 bits, so that a posting takes three bytes instead of five. */
export const segmentChunksMax = 65_536

/** `text` is UTF-8. It is opened as a Buffer, which decodes in place and faster than a TextDecoder. */
const elementBytes = { u8: 1, u16: 2, u32: 4, f64: 8, text: 1 } as const

const sections = {
  chunkDocument: 'u16',
  chunkVersion: 'u16',
  /** The number of the filter class (`filter-classes.ts`). */
  chunkClass: 'u32',
  /** Positions of title and body together. */
  chunkLength: 'u32',
  /**
   * Class << 16 | length: everything that scoring a posting needs of its chunk, in one array instead of two. Empty if a
   * value does not fit 16 bits; such a segment is searched without the kernel.
   */
  chunkWord: 'u32',
  /** Identifies the chunk through all merges. A chunk that is rewritten by a batch gets a new key. */
  chunkKey: 'u32',
  /** Identifies the chunk's vectors in the durable file. A chunk that is rewritten with other columns keeps it. */
  vectorKey: 'u32',
  bodyStart: 'u32',
  chunkIdStart: 'u32',
  chunkIds: 'text',
  versionIdStart: 'u32',
  versionIds: 'text',
  titleStart: 'u32',
  titleLength: 'u32',
  /** By version: the first chunk of its text. It alone counts if only the title may be searched. */
  titleChunk: 'u16',
  documentIdStart: 'u32',
  documentIds: 'text',
  documentFirstChunk: 'u32',
  /** Milliseconds since 1970; NaN if the document has none. */
  documentPublished: 'f64',
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

/** The sections of the catalog columns, which follow the others in the order of the table of fields. */
const catalogSections = catalogRows.flatMap(({ property, kind }) => {
  const values = { name: property, property, part: 'values', element: kind === 'integer' ? 'f64' : 'u32' } as const
  return kind === 'texts'
    ? [{ name: `starts of ${property}`, property, part: 'starts', element: 'u32' } as const, values]
    : [values]
})
const sectionList = [...sectionNames.map((name) => ({ name, element: sections[name] })), ...catalogSections]

/**
 * A catalog column of all documents. Texts are their numbers in the dictionary, 0 for none; a missing number is NaN.
 */
export interface CatalogColumn {
  /** Lists only: the start of each document's values, one more entry than documents. The values are concatenated. */
  readonly starts: Uint32Array<ArrayBufferLike> | null
  readonly values: Uint32Array<ArrayBufferLike> | Float64Array<ArrayBufferLike>
}

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
  readonly catalog: Readonly<Record<string, CatalogColumn>>
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
} & Pick<SegmentData, 'catalog'>

export function writeSegmentData(parts: SegmentParts & Pick<SegmentData, 'tokenBytes'>): Uint8Array<ArrayBuffer> {
  const contents = [
    ...sectionNames.map((name) => parts[name]),
    ...catalogSections.map(({ property, part }) => parts.catalog[property]![part]!),
  ]
  const directoryBytes = sectionList.length * 8
  let total = alignedTo8(headBytes + directoryBytes)
  for (const content of contents) total += alignedTo8(content.byteLength)
  const data = new Uint8Array(total)
  const head = new Uint32Array(data.buffer, 0, (headBytes + directoryBytes) / 4)
  head.set([magic, formatOf[parts.tokenBytes], sectionList.length, total])
  let at = alignedTo8(headBytes + directoryBytes)
  contents.forEach((content, i) => {
    head[4 + i * 2] = at
    head[5 + i * 2] = content.byteLength / bytesOfElement(sectionList[i]!.element, parts.tokenBytes)
    data.set(new Uint8Array(content.buffer, content.byteOffset, content.byteLength), at)
    at += alignedTo8(content.byteLength)
  })
  return data
}

/**
 * Opens views without copying. Throws if the bytes are not segment data of this format. The caller treats that as
 * damage.
 */
export function openSegmentData(bytes: Uint8Array<ArrayBufferLike>): SegmentData {
  const head = new Uint32Array(bytes.buffer, bytes.byteOffset, 4 + sectionList.length * 2)
  const tokenBytes = ([3, 4] as const).find((width) => formatOf[width] === head[1])
  const isWhole = head[0] === magic && head[2] === sectionList.length && head[3] === bytes.length
  if (tokenBytes === undefined || !isWhole) throw new Error('not segment data of this format')
  const parts: Record<string, ElementArrays[keyof ElementArrays]> = {}
  sectionList.forEach(({ name, element }, i) => {
    const offset = head[4 + i * 2]!
    const length = head[5 + i * 2]!
    const sectionBytes = length * bytesOfElement(element, tokenBytes)
    if (offset + sectionBytes > bytes.length) throw new Error(`section ${name} extends beyond its segment`)
    parts[name] = viewOf(element, bytes, offset, element === 'token' ? sectionBytes : length)
  })
  const opened = parts as unknown as SegmentSections
  const catalog: Record<string, { starts: CatalogColumn['starts']; values?: CatalogColumn['values'] }> = {}
  for (const { name, property, part } of catalogSections) {
    catalog[property] = { starts: null, ...catalog[property], [part]: parts[name] }
  }
  return {
    ...opened,
    catalog: catalog as SegmentData['catalog'],
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

/** The bytes of the segment by purpose, for health. */
export function bytesByPurpose(data: SegmentData): Record<'postings' | 'tokens' | 'pairs' | 'ids' | 'columns', number> {
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
  const sum = (names: readonly SectionName[]) => names.reduce((bytes, name) => bytes + data[name].byteLength, 0)
  const known = { postings: sum(postings), tokens: sum(tokens), pairs: sum(['pairSlices']), ids: sum(ids) }
  return { ...known, columns: data.bytes - known.postings - known.tokens - known.pairs - known.ids }
}

function textAt(bytes: Buffer<ArrayBufferLike>, starts: Uint32Array<ArrayBufferLike>, at: number): string {
  return bytes.toString('utf8', starts[at]!, starts[at + 1]!)
}

export const documentIdAt = (data: SegmentData, document: number): string =>
  textAt(data.documentIds, data.documentIdStart, document)
export const versionIdAt = (data: SegmentData, version: number): string =>
  textAt(data.versionIds, data.versionIdStart, version)
export const chunkIdAt = (data: SegmentData, chunk: number): string => textAt(data.chunkIds, data.chunkIdStart, chunk)

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

/** Returns the first document of the segment whose id is not below `id`. */
export function lowerBoundDocument(data: SegmentData, id: Uint8Array): number {
  const { documentIds: ids, documentIdStart: starts } = data
  const shared = sharedPrefix(data)
  const order = compareBytes(ids, 0, shared, id, 0, Math.min(shared, id.length))
  if (order !== 0) return order < 0 ? data.documents : 0
  let low = 0
  let high = data.documents
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
  const sharedMax = Math.min(starts[1]!, starts[documents]! - last)
  let shared = 0
  while (shared < sharedMax && ids[shared] === ids[last + shared]) shared++
  return shared
}

/** Returns -1 if the segment does not contain the document. */
export function findDocument(data: SegmentData, id: Uint8Array): number {
  const at = lowerBoundDocument(data, id)
  if (at === data.documents) return -1
  const { documentIds: ids, documentIdStart: starts } = data
  return compareBytes(ids, starts[at]!, starts[at + 1]!, id, 0, id.length) === 0 ? at : -1
}

/** Returns the position of the term in the segment's list, -1 if it is not there. */
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
export function postingRangeOf(data: SegmentData, term: number): [from: number, end: number] {
  const found = findTerm(data, term)
  return found < 0 ? [0, 0] : [data.postingStart[found]!, data.postingStart[found + 1]!]
}

/** Returns the position of the first number in an ascending range that is not below `number`; the end if all are. */
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
export function fieldsAt(data: SegmentData, posting: number): number {
  const code = data.postingFrequency[posting]!
  const frequency = code === exceptionCode ? frequencyAt(data, posting) : ((code >>> 6) << 16) | (code & 63)
  return (frequency > 0xffff ? 1 : 0) | ((frequency & 0xffff) > 0 ? 2 : 0)
}

/** The frequencies of a posting, title << 16 | body. */
export function frequencyAt(data: SegmentData, posting: number): number {
  const code = data.postingFrequency[posting]!
  if (code !== exceptionCode) return ((code >>> 6) << 16) | (code & 63)
  const list = data.exceptionPosting
  let low = 0
  let high = list.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if (list[middle]! < posting) low = middle + 1
    else high = middle
  }
  return data.exceptionFrequency[low]!
}

export const exceptionCode = 255
