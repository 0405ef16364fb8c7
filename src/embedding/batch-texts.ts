export interface BatchLimits {
  readonly textsMax: number
  /** UTF-16 code units. A longer text gets a batch of its own. */
  readonly charsMax: number
}

/** Splits the texts, in order, into as few batches as the limits allow. */
export function batchTexts(texts: readonly string[], limits: BatchLimits): string[][] {
  const batches: string[][] = []
  let batch: string[] = []
  let chars = 0
  for (const text of texts) {
    if (batch.length > 0 && (batch.length >= limits.textsMax || chars + text.length > limits.charsMax)) {
      batches.push(batch)
      batch = []
      chars = 0
    }
    batch.push(text)
    chars += text.length
  }
  if (batch.length > 0) batches.push(batch)
  return batches
}
