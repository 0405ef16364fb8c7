import type { Embedder } from '../embedding/embedder.ts'
import type { IndexSource } from '../indexing/index-source.ts'
import type { Incidents } from '../platform/incidents.ts'
import { repeat } from './repeating.ts'

const checkEveryMs = 2000

export interface StandIns {
  /** The embedders that answer for the default profile while it has no vectors. */
  now(): readonly Embedder[]
  stop(): Promise<void>
}

/**
 * After a change of model, the earlier profiles answer until the new default one has every vector that was waiting.
 * This is checked until it is true for the first time. Vectors of later documents do not matter.
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
  const checking = repeat(
    'stand-ins',
    checkEveryMs,
    async () => {
      if (standing.length === 0 || (await source.waitingChunks(profileId, 1)).length > 0) return false
      standing = []
      await done()
      return false
    },
    incidents,
  )
  return { now: () => standing, stop: () => checking.stop() }
}
