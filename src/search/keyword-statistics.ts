/**
 * What keyword scores were worked out from, as numbers that a page hands to the next: every document that comes or goes
 * moves them, and with them the scores of all others, so that a page that went on from a score by other numbers would
 * repeat or lose what it compares. They belong to what was asked, in that order.
 */
export interface KeywordStatistics {
  readonly chunks: number
  readonly totalLength: number
  /** By what was asked. */
  readonly counts: readonly number[]
}

/** More than this is not handed on, so that a cursor stays short. */
const askedMax = 200

export function packStatistics(
  asked: readonly string[],
  { chunks, totalLength, counts }: KeywordStatistics,
): readonly number[] | undefined {
  return asked.length > askedMax ? undefined : [digestOf(asked), chunks, totalLength, ...counts]
}

/** `null` where the numbers are of something else that was asked: similar words are looked for anew on every page. */
export function unpackStatistics(
  packed: readonly number[] | undefined,
  asked: readonly string[],
): KeywordStatistics | null {
  if (packed === undefined) return null
  const [digest, chunks, totalLength, ...counts] = packed
  if (digest !== digestOf(asked) || counts.length !== asked.length) return null
  return { chunks: chunks!, totalLength: totalLength!, counts }
}

function digestOf(asked: readonly string[]): number {
  let digest = 0x811c9dc5
  for (const unit of Buffer.from(JSON.stringify(asked))) digest = Math.imul(digest ^ unit, 0x01000193)
  return digest >>> 0
}
