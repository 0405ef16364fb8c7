import { isUtf8 } from 'node:buffer'

/** How far into a file an XML declaration can say its encoding. */
const declarationBytesMax = 512

/**
 * Bytes as text. A byte order mark tells the truth; then the header, then the XML declaration. What is said to be UTF-8,
 * or nothing at all, and is not valid UTF-8, is read as windows-1252: every byte means something there, and it is what
 * such files nearly always are.
 */
export function decodeText(bytes: Uint8Array, contentType: string | undefined): string {
  const mark = markOf(bytes)
  if (mark !== null) return new TextDecoder(mark).decode(bytes)
  const said = [/charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(contentType ?? '')?.[1], declaredIn(bytes)]
  for (const label of said) {
    const decoder = label === undefined ? null : decoderFor(label)
    if (decoder === null || (decoder.encoding === 'utf-8' && !isUtf8(bytes))) continue
    // A declaration that can be read byte by byte is not in an encoding of two bytes, whatever it says.
    if (decoder.encoding.startsWith('utf-16') && label === said[1]) continue
    return decoder.decode(bytes)
  }
  return new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252').decode(bytes)
}

function markOf(bytes: Uint8Array): string | null {
  const [a, b, c] = bytes
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8'
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  return a === 0xfe && b === 0xff ? 'utf-16be' : null
}

function declaredIn(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, declarationBytesMax)).toString('latin1')
  const declaration = start.trimStart().startsWith('<?xml') ? start.slice(0, start.indexOf('?>') + 1) : ''
  return /encoding\s*=\s*["']([\w.:-]{1,40})["']/i.exec(declaration)?.[1]
}

function decoderFor(label: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(label)
  } catch {
    return null
  }
}
