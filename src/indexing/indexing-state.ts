import type { IndexHealth, KeptIndex } from './fed-index.ts'
import type { Backlog, IndexSource } from './index-source.ts'
import { formatDuration, formatRate } from './vector-rate.ts'

const behindSecondsMax = 60

/** Frequent reports count the backlog no further than this. */
export const pendingCountedMax = 100_000

/** The indexing work of this process. */
export interface IndexingWork {
  /**
   * The index does not yet have everything that the store had at the start, or when the index was emptied. The backlog
   * is old then, and nothing is wrong.
   */
  readonly isRefilling: boolean
  /** The index may be missing documents that were acknowledged long ago. Searches then return a warning. */
  readonly isBehind: boolean
  readonly isFeeding: boolean
  /** This process was elected to make vectors when it last checked. */
  readonly isMakingVectors: boolean
  /** Null while this process does not feed the index. */
  readonly documentsPerSecond: number | null
  /** Null while this process makes no vectors. */
  readonly vectorsPerSecond: number | null
  /** Why feeding makes no progress; null while it does. */
  readonly trouble: string | null
}

export interface IndexingState extends IndexingWork {
  readonly health: IndexHealth
  readonly backlog: Backlog
  readonly oldestPendingSeconds: number | null
  /** Problems that an operator should act on, and how. */
  readonly warnings: readonly string[]
}

/** Part of every line about the index while searches return this warning. */
const behindWarning =
  'the index is missing documents that were acknowledged long ago: searches return a warning until it has them'

/** The model of the default profile. */
export interface DefaultModel {
  readonly profileId: string
  /** The model runs behind an HTTP endpoint, not in this process. */
  readonly isEndpoint: boolean
}

/**
 * After a change of the model, all vectors of the default profile are made again, so old texts wait for one.
 */
export async function indexingState(
  index: KeptIndex,
  source: IndexSource,
  work: IndexingWork,
  { profileId, isEndpoint }: DefaultModel,
  countedMax?: number,
): Promise<IndexingState> {
  const { isRefilling, isBehind, isFeeding, isMakingVectors, documentsPerSecond, vectorsPerSecond, trouble } = work
  const health = await index.health()
  const backlog = await source.backlog(health.state === 'ready' ? health.position : 0, countedMax)
  const oldestPendingSeconds = backlog.oldestAt === null ? null : Math.max(0, (Date.now() - backlog.oldestAt) / 1000)
  const warnings = [...health.warnings]
  if (health.state === 'needs_rebuild') warnings.push(`the index is being rebuilt: ${health.reason}`)
  if (trouble !== null) warnings.push(`the index is not being fed, so searches miss new documents: ${trouble}`)
  if (isBehind && !isRefilling) warnings.push(behindWarning)
  if (isRefilling) {
    warnings.push(
      'the index is being filled from the store: searches miss documents and return a warning until it is complete',
    )
  } else if ((oldestPendingSeconds ?? 0) > behindSecondsMax) {
    const { waitingVectors } = backlog
    const [replaced] = replacedBy(profileId, health)
    const check =
      isEndpoint && waitingVectors > 0
        ? 'the embedding endpoint answers and the machine is busy'
        : 'the machine is busy'
    const othersAreFound =
      replaced === undefined ? 'only keyword search finds the others' : `${replaced} finds the others`
    if (backlog.documents === 0 && vectorsPerSecond !== null) {
      warnings.push(
        `vectors are ${formatDuration(waitingVectors / vectorsPerSecond)} behind, at ${formatRate(vectorsPerSecond)} a second, newest first: until then ${othersAreFound}`,
      )
    } else if (backlog.documents === 0 && replaced !== undefined) {
      warnings.push(
        `the embedding model was changed: ${waitingVectors} vectors of ${profileId} are missing, and none was made in the last minute; until they are made, ${othersAreFound}. If this stays, see whether ${check}`,
      )
    } else {
      const late = [backlog.documents > 0 && 'documents', waitingVectors > 0 && 'vectors'].filter(Boolean).join(' and ')
      warnings.push(`indexing of ${late} is more than a minute behind: see whether ${check}`)
    }
  }
  const reported = { isRefilling, isBehind, isFeeding, isMakingVectors, documentsPerSecond, vectorsPerSecond, trouble }
  return { health, backlog, oldestPendingSeconds, ...reported, warnings }
}

/** Profiles that have vectors of more texts than the default profile, which is replacing them. */
function replacedBy(profileId: string, { profiles }: IndexHealth): string[] {
  const own = profiles.find((one) => one.profileId === profileId)?.chunks ?? 0
  return profiles.filter(({ chunks }) => chunks > own).map((one) => one.profileId)
}

/**
 * Whether a search would be answered and new documents are found, with one line about the size and position of the
 * index. `mustBeWhole`: a process with an incomplete index is not ready, because other processes can answer or an
 * upgrade is in progress. A process that is alone serves what it has, with a warning.
 */
export function readiness(
  { health, backlog, isRefilling, warnings }: IndexingState,
  mustBeWhole: boolean,
): { ok: boolean; detail: string } {
  const counted = (count: number): string => (count < pendingCountedMax ? `${count}` : `${pendingCountedMax} or more`)
  const behind = `${counted(backlog.documents)} documents and ${counted(backlog.waitingVectors)} vectors behind`
  const isUpToDate = backlog.documents + backlog.waitingVectors === 0
  const size = `${health.chunks} chunks in ${Math.round(health.memoryBytes / 2 ** 20)} MiB`
  const ok = health.searchable && health.takesWrites && !(mustBeWhole && isRefilling)
  return { ok, detail: [size, isUpToDate ? 'up to date' : behind, ...warnings].join(', ') }
}

/** Readiness if the store cannot report the backlog. The check of the store reports that fault. */
export function readinessWithoutBacklog(
  { searchable, chunks }: IndexHealth,
  isIncomplete: boolean,
): { ok: boolean; detail: string } {
  return {
    ok: searchable && !isIncomplete,
    detail: `${chunks} chunks, the backlog is unknown: the database does not answer`,
  }
}
