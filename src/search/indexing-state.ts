import type { Backlog, IndexSource } from './index-source.ts'
import type { IndexHealth, SearchIndex } from './search-index.ts'
import { inWords } from './vector-rate.ts'

const behindSecondsMax = 60

/** What is asked for often, whatever waits, counts no further than this. */
export const pendingCountedMax = 100_000

/** What this process does for the index. */
export interface IndexingWork {
  /**
   * The index does not have all yet that the store had at the start, or when the index was emptied: what is behind is old,
   * and nothing is wrong.
   */
  readonly isRefilling: boolean
  readonly isFeeding: boolean
  /** Making vectors fell to this process when it last asked. */
  readonly isMakingVectors: boolean
  /** Null while it feeds none. */
  readonly documentsPerSecond: number | null
  /** Null while it makes none. */
  readonly vectorsPerSecond: number | null
  /** Why it does not get on with feeding; null while it does. */
  readonly trouble: string | null
}

export interface IndexingState extends IndexingWork {
  readonly health: IndexHealth
  readonly backlog: Backlog
  readonly oldestPendingSeconds: number | null
  /** What an operator should act on, and how. */
  readonly warnings: readonly string[]
}

/** What makes vectors of the default profile. */
export interface DefaultModel {
  readonly profileId: string
  /** It is asked at an address, not in this process. */
  readonly isEndpoint: boolean
}

/**
 * Of the default profile vectors are made anew after a change of the model: texts that came in long ago wait
 * for them.
 */
export async function indexingState(
  index: SearchIndex,
  source: IndexSource,
  { isRefilling, isFeeding, isMakingVectors, documentsPerSecond, vectorsPerSecond, trouble }: IndexingWork,
  { profileId, isEndpoint }: DefaultModel,
  countedMax?: number,
): Promise<IndexingState> {
  const health = await index.health()
  const backlog = await source.backlog(health.state === 'ready' ? health.position : 0, countedMax)
  const oldestPendingSeconds = backlog.oldestAt === null ? null : Math.max(0, (Date.now() - backlog.oldestAt) / 1000)
  const warnings = [...health.warnings]
  if (health.state === 'needs_rebuild') warnings.push(`the index is being built anew: ${health.reason}`)
  if (trouble !== null) warnings.push(`the index is not fed at the moment, and searches miss what is new: ${trouble}`)
  if (isRefilling) {
    warnings.push('the index is being filled from the store: searches miss documents and say so until it has them all')
  } else if ((oldestPendingSeconds ?? 0) > behindSecondsMax) {
    const { waitingVectors } = backlog
    const [replaced] = replacedBy(profileId, health)
    const look =
      isEndpoint && waitingVectors > 0
        ? 'the embedding endpoint answers and the machine is busy'
        : 'the machine is busy'
    const othersAreFound = replaced === undefined ? 'only words find the others' : `${replaced} finds the others`
    if (backlog.documents === 0 && vectorsPerSecond !== null) {
      warnings.push(
        `vectors are ${inWords(waitingVectors / vectorsPerSecond)} behind, at ${vectorsPerSecond.toPrecision(2)} a second, newest first: until then ${othersAreFound}`,
      )
    } else if (backlog.documents === 0 && replaced !== undefined) {
      warnings.push(
        `the embedding model was changed: ${waitingVectors} vectors of ${profileId} are to be made, none in the last minute; until then ${othersAreFound}. If this stays, see whether ${look}`,
      )
    } else {
      const late = [backlog.documents > 0 && 'documents', waitingVectors > 0 && 'vectors'].filter(Boolean).join(' and ')
      warnings.push(`indexing of ${late} is more than a minute behind: see whether ${look}`)
    }
  }
  const work = { isRefilling, isFeeding, isMakingVectors, documentsPerSecond, vectorsPerSecond, trouble }
  return { health, backlog, oldestPendingSeconds, ...work, warnings }
}

/** Profiles that more texts have vectors of than of the default one: that is taking their place. */
function replacedBy(profileId: string, { profiles }: IndexHealth): string[] {
  const own = profiles.find((one) => one.profileId === profileId)?.chunks ?? 0
  return profiles.filter(({ chunks }) => chunks > own).map((one) => one.profileId)
}

/**
 * Whether a search would be answered, and in a line how large and how far the index is. `othersServe`: where other processes
 * answer too, one whose index lacks documents is not ready; one that is alone serves what it has, and says so.
 */
export function readiness(
  { health, backlog, isRefilling, warnings }: IndexingState,
  othersServe: boolean,
): { ok: boolean; detail: string } {
  const counted = (count: number): string => (count < pendingCountedMax ? `${count}` : `${pendingCountedMax} or more`)
  const behind = `${counted(backlog.documents)} documents and ${counted(backlog.waitingVectors)} vectors behind`
  const isUpToDate = backlog.documents + backlog.waitingVectors === 0
  const size = `${health.chunks} chunks in ${Math.round(health.memoryBytes / 2 ** 20)} MiB`
  const ok = health.searchable && !(othersServe && isRefilling)
  return { ok, detail: [size, isUpToDate ? 'up to date' : behind, ...warnings].join(', ') }
}

/** Where the store does not say how far the index is behind: that is the store's trouble, and told of there. */
export function readinessAlone({ searchable, chunks }: IndexHealth): { ok: boolean; detail: string } {
  return { ok: searchable, detail: `${chunks} chunks, how far behind is not known: the database does not answer` }
}
