import type { Embedder } from '../embedding/embedder.ts'
import type { Incidents } from '../incidents.ts'
import type { IndexSource } from '../search/index-source.ts'
import { repeat } from './repeating.ts'

const lookEveryMs = 2000

export interface StandIns {
  /** Those that answer for the default profile where it has no vectors yet. */
  now(): readonly Embedder[]
  stop(): Promise<void>
}

/**
 * After the model was changed the profiles from before answer, until the new default one has every vector that waited for
 * it. That is looked for until it is so for the first time: what comes in later waits as it always does.
 */
export function startStandIns(
  source: IndexSource,
  profileId: string,
  before: readonly Embedder[],
  done: () => Promise<void>,
  incidents: Incidents,
): StandIns {
  let standing = before
  if (before.length === 0) return { now: () => [], stop: async () => {} }
  const looking = repeat(
    'stand-ins',
    lookEveryMs,
    async () => {
      if (standing.length === 0 || (await source.waitingChunks(profileId, 1)).length > 0) return false
      standing = []
      await done()
      return false
    },
    incidents,
  )
  return { now: () => standing, stop: () => looking.stop() }
}
