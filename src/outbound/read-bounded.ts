/** More came, or was announced, than the reader takes. */
export class TooLarge extends Error {
  constructor(bytesMax: number) {
    super(`larger than ${bytesMax} bytes`)
    this.name = 'TooLarge'
  }
}

/**
 * A body as bytes. `TooLarge` with the first bytes too many, which are the very first where `announced`
 * (`content-length`) is too many already. What is left of it is not read.
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
