import { isUtf8 } from 'node:buffer'

/** An XML declaration is looked for in this many bytes. */
const declarationBytesMax = 512

/**
 * Decodes bytes to text. A byte order mark decides first, then the header, then the XML declaration. Bytes that are
 * declared as UTF-8, or not declared, and are not valid UTF-8, are read as windows-1252: it decodes every byte, and
 * nearly all such files use it.
 */
export function decodeText(bytes: Uint8Array, contentType: string | undefined): string {
  const mark = markOf(bytes)
  if (mark !== null) return new TextDecoder(mark).decode(bytes)
  const said = [/charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(contentType ?? '')?.[1], declaredIn(bytes)]
  for (const label of said) {
    const decoder = label === undefined ? null : decoderFor(label)
    if (decoder === null || (decoder.encoding === 'utf-8' && !isUtf8(bytes))) continue
    // A declaration that can be read byte by byte cannot be in a two-byte encoding, whatever it says.
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
