/**
 * The BM25 statistics of a keyword search. Each page passes them to the next one in the cursor. Every added or removed
 * document changes them, and with them all scores, so a page that used other statistics than the page before would
 * repeat or skip documents. They belong to the terms of the request, in this order.
 */
export interface KeywordStatistics {
  readonly chunks: number
  readonly totalLength: number
  /** One count for each requested term. */
  readonly counts: readonly number[]
}

/** Statistics of more terms are not packed, so that the cursor stays short. */
const termsMax = 200

export function packStatistics(
  terms: readonly string[],
  { chunks, totalLength, counts }: KeywordStatistics,
): readonly number[] | undefined {
  return terms.length > termsMax ? undefined : [digestOf(terms), chunks, totalLength, ...counts]
}

/** Returns `null` if the numbers belong to other terms, because similar words are looked up again for every page. */
export function unpackStatistics(
  packed: readonly number[] | undefined,
  terms: readonly string[],
): KeywordStatistics | null {
  if (packed === undefined) return null
  const [digest, chunks, totalLength, ...counts] = packed
  if (digest !== digestOf(terms) || counts.length !== terms.length) return null
  return { chunks: chunks!, totalLength: totalLength!, counts }
}

function digestOf(terms: readonly string[]): number {
  let digest = 0x811c9dc5
  for (const unit of Buffer.from(JSON.stringify(terms))) digest = Math.imul(digest ^ unit, 0x01000193)
  return digest >>> 0
}
