import { isUtf8 } from 'node:buffer'

/** One line of an NDJSON stream. `ended` is false for a last line without a line break, which may have been cut off. */
export interface Line {
  readonly text: string
  readonly ended: boolean
  /** Bytes from the start of the stream to the end of this line, with its line break. */
  readonly endsAt: number
  /** The line was longer than the limit and was skipped; `text` is empty. */
  readonly tooLong: boolean
  /** The line was not valid UTF-8. `text` has U+FFFD for the invalid bytes. */
  readonly garbled: boolean
}

const lineBreak = 10
const carriageReturn = 13

/**
 * Splits a byte stream into lines, holding at most one line and one chunk. A line over the limit is dropped while it
 * streams by, so it costs no memory. Empty lines are skipped here, where even a million of them cost little.
 */
export async function* readLines(stream: AsyncIterable<Uint8Array>, lineBytesMax: number): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: false })
  let parts: Uint8Array[] = []
  let length = 0
  let tooLong = false
  let position = 0
  const take = (ended: boolean): Line => {
    const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
    const line = { text: decoder.decode(bytes), ended, endsAt: position, tooLong, garbled: !isUtf8(bytes) }
    parts = []
    length = 0
    tooLong = false
    return line
  }
  const keep = (piece: Uint8Array): void => {
    length += piece.length
    if (length > lineBytesMax) {
      tooLong = true
      parts = []
    }
    if (!tooLong && piece.length > 0) parts.push(piece)
  }
  for await (const chunk of stream) {
    let from = 0
    for (;;) {
      if (length === 0) {
        const text = afterEmptyLines(chunk, from)
        position += text - from
        from = text
      }
      const at = chunk.indexOf(lineBreak, from)
      if (at < 0) break
      keep(chunk.subarray(from, at))
      position += at + 1 - from
      from = at + 1
      yield take(true)
    }
    keep(chunk.subarray(from))
    position += chunk.length - from
  }
  if (length > 0) yield take(false)
}

/**
 * Works byte by byte: 64 MB of line breaks compress to 65 KB, and a search for each one would take seconds of the
 * processor.
 */
function afterEmptyLines(chunk: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    if (chunk[at] === lineBreak) at++
    else if (chunk[at] === carriageReturn && chunk[at + 1] === lineBreak) at += 2
    else return at
  }
}
