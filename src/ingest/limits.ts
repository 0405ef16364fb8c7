/** What the collector API takes, used by schemas, routes and documentation alike. */
export const ingestLimits = {
  /** Documents in one JSON batch. */
  batchMax: 500,
  /** Bytes of one JSON batch. */
  batchBytesMax: 64 * 1024 * 1024,
  /** Bytes of one line of NDJSON. */
  lineBytesMax: 16 * 1024 * 1024,
  /** Lines of a stream that may be refused, however few are taken. */
  refusedLinesMax: 10_000,
  titleCharactersMax: 2000,
  bodyCharactersMax: 4_000_000,
  /** Topics, and tags, of one document. */
  wordsMax: 200,
  /** Levels of objects and lists within `extra_payload` and the metadata of a fact. */
  nestingMax: 64,
} as const
