import type { IndexHome } from '../indexing/index-home.ts'
import type { Incidents } from '../platform/incidents.ts'
import type { Log } from '../platform/log.ts'
import type { Indexing } from './indexing.ts'
import { type Repeating, repeat } from './repeating.ts'

const checkEveryMs = 5000

/** In this time the previous version can come back, or recover from a crash, without refilling its index. */
const unusedForMs = 10 * 60_000

/**
 * If two checks are further apart than this, an index does not count as unused in between: the machine may have been
 * suspended.
 */
const checksApartMaxMs = 4 * checkEveryMs

export interface RemovalParts {
  readonly home: Pick<IndexHome, 'fedBy' | 'otherVersions' | 'removeVersion'>
  readonly indexing: Pick<Indexing, 'isRefilling' | 'isFeeding'>
  /** Whether a process feeds or builds the index of that version. */
  readonly isInUse: (version: string | null) => Promise<boolean>
  readonly unusedForMs?: number
  readonly checkEveryMs?: number
}

export interface RemovingOldIndexes extends Pick<Repeating, 'stop'> {
  /** Whether the index of another version still exists, or may. */
  readonly mayReplaceAnother: boolean
  /** Whether an index of another version that no process feeds still exists, or may. */
  readonly leavesUnfed: boolean
}

/**
 * After an upgrade, removes the index of the previous version once the new one is complete and no process uses the old
 * one. An index that only this process could use is removed at once.
 */
export function startRemovingOldIndexes(
  { home, indexing, isInUse, ...times }: RemovalParts,
  incidents: Incidents,
  logger: Log,
): RemovingOldIndexes {
  let mayReplaceAnother = true
  let leavesUnfed = true
  let unusedSince = new Map<string | null, number>()
  let checkedAt = performance.now()
  const remove = async (): Promise<boolean> => {
    const now = performance.now()
    const known = now - checkedAt <= checksApartMaxMs ? unusedSince : new Map<string | null, number>()
    checkedAt = now
    // If the rest fails, the observation starts again: a process may have fed an old index meanwhile.
    unusedSince = new Map()
    const others = await home.otherVersions()
    mayReplaceAnother = others.length > 0
    const unfed = []
    for (const one of others) if (home.fedBy === 'each' || !(await isInUse(one.version))) unfed.push(one)
    leavesUnfed = unfed.length > 0
    if (indexing.isRefilling || !indexing.isFeeding) return false
    for (const { version } of unfed) {
      if (home.fedBy === 'one') {
        const since = known.get(version) ?? now
        unusedSince.set(version, since)
        if (now - since < (times.unusedForMs ?? unusedForMs)) continue
      }
      await home.removeVersion(version)
      logger.info({ version }, 'the search index of another version was removed because nothing uses it any more')
    }
    leavesUnfed = unfed.some(({ version }) => unusedSince.has(version))
    return false
  }
  const checking = repeat('remove-old-indexes', times.checkEveryMs ?? checkEveryMs, remove, incidents)
  return {
    get mayReplaceAnother() {
      return mayReplaceAnother
    },
    get leavesUnfed() {
      return leavesUnfed
    },
    stop: () => checking.stop(),
  }
}
