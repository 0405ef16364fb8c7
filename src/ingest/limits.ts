/** The limits of the collector API, shared by schemas, routes and documentation. */
export const ingestLimits = {
  /** Documents in one JSON batch. */
  batchMax: 500,
  /** Bytes of one JSON batch. */
  batchBytesMax: 64 * 1024 * 1024,
  /** Bytes of one line of NDJSON. */
  lineBytesMax: 16 * 1024 * 1024,
  /** A stream ends when more lines than this were refused, and more than were stored. */
  refusedLinesMax: 10_000,
  /** Levels of objects and lists within `extra_payload` and the metadata of a fact. */
  nestingMax: 64,
} as const
