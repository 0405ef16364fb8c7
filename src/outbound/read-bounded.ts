/** The body is, or announces to be, larger than the limit. */
export class TooLarge extends Error {
  constructor(bytesMax: number) {
    super(`larger than ${bytesMax} bytes`)
    this.name = 'TooLarge'
  }
}

/**
 * Reads a body. Throws `TooLarge` on the first byte beyond the limit, or at once if `announced` (`content-length`) is
 * beyond it. The rest of the body is not read.
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
    // Leaving the loop cancels the rest.
    if (bytes > bytesMax) throw new TooLarge(bytesMax)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
