/** The body is larger than the limit, or its `content-length` is. */
export class TooLarge extends Error {
  constructor(bytesMax: number) {
    super(`larger than ${bytesMax} bytes`)
    this.name = 'TooLarge'
  }
}

/**
 * Reads a body. Throws `TooLarge` once it exceeds the limit, or on its first part if `announced` (`content-length`)
 * does. The rest of the body is not read.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | null,
  bytesMax: number,
  announced: string | null | undefined,
): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let bytes = Number(announced ?? 0) > bytesMax ? Number.POSITIVE_INFINITY : 0
  for await (const part of body ?? []) {
    bytes += part.byteLength
    // Leaving the loop cancels the stream.
    if (bytes > bytesMax) throw new TooLarge(bytesMax)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
