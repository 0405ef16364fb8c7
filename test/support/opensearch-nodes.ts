/** Of the cluster that tests may use; null where there is none. */
export const openSearchNodes: readonly string[] | null = process.env.TEST_OPENSEARCH_URL?.split(',') ?? null

/** A cluster on a busy machine is not taken for away. */
export const patience = { listMs: 60_000, silentAfterMs: 60_000 }

export const withoutOpenSearch =
  'TEST_OPENSEARCH_URL is not set: where there is a JDK from 21 on, and mvn, "npm run with-opensearch -- npm test" makes a cluster for it'
