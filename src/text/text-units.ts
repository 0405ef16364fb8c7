/** A thread reads one text at a time, so this is its own; longer ones, which are rare, have theirs. */
const usual = Buffer.alloc(32_768)

/**
 * The UTF-16 units of a text, until the next one is asked for. Character by character a text is read several times as fast
 * so: of a string V8 finds out again for each of them how it is kept.
 */
export function unitsOf(text: string): Uint16Array {
  const bytes = 2 * text.length <= usual.length ? usual : Buffer.alloc(2 * text.length)
  bytes.write(text, 'utf16le')
  return new Uint16Array(bytes.buffer, bytes.byteOffset, text.length)
}
