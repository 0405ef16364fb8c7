import { UnavailableError } from '../platform/errors.ts'
import type { ErasureStore } from './erasure-store.ts'
import { type Finding, failure, ok, warning } from './examine.ts'
import {
  DamagedEntry,
  damagedEntry,
  erasuresAmong,
  parsePart,
  type RecordedErasure,
  type RemovalRecord,
} from './removal-record.ts'
import { emptyAfterLoss, wasEmptyAfter } from './removals.ts'

/**
 * The time limit for reading entries, because a person waits for the result. Erasures that are missing from the store
 * are read first.
 */
const readsForMs = 20_000
const comparedAtOnce = 500
const shown = 5
/** A running worker writes an erasure within this time. */
const writtenWithinMs = 60_000

/** Finds problems of the record that keep a server from starting. Writes nothing. */
export async function examineRemovals(
  record: RemovalRecord,
  erasures: Pick<ErasureStore, 'hiddenAmong' | 'unfinished' | 'erasures'>,
  { nowMs, loss }: { readonly nowMs: number; readonly loss: string | null },
): Promise<readonly Finding[]> {
  const named = `the record of erasures and ended keys in ${record.place}`
  try {
    const names = await record.names()
    const recorded = erasuresAmong(names)
    const wasEmpty = wasEmptyAfter(new Set(names), loss) !== null
    const findings = [
      ...(await damagedEntries(record, recorded, erasures)),
      ...(await unwritten(record, recorded, erasures, nowMs)),
      ...(await vanished(record, recorded, erasures)),
      ...(wasEmpty ? [warning(`${emptyAfterLoss} (${record.place})`, emptyAdvice)] : []),
    ]
    if (findings.some(({ state }) => state !== 'ok')) return findings
    return [ok(`the record of erasures and ended keys has ${names.length} entries in ${record.place}`), ...findings]
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    return [
      failure(
        `${named} cannot be read: ${error.message}`,
        'allow this process to list, read and write there; until then no erasure completes, and no newly started process becomes ready',
      ),
    ]
  }
}

const emptyAdvice =
  'check that TIDEMARK_ARTIFACTS_URL is the same as for the servers, and restore the record from a copy; without a copy repeat those erasures, and check tidemark key list'

/** Finds completed erasures that are missing from the record. An erasure only completes after it is in the record. */
async function vanished(
  record: RemovalRecord,
  recorded: readonly RecordedErasure[],
  erasures: Pick<ErasureStore, 'erasures'>,
): Promise<readonly Finding[]> {
  const inRecord = new Set(recorded.map(({ erasureId }) => erasureId))
  const newest = await erasures.erasures({ before: null, limit: comparedAtOnce })
  const missing = newest.filter(({ erasureId, status }) => status === 'completed' && !inRecord.has(erasureId))
  if (missing.length === 0) return []
  const ids = missing.slice(0, shown).map(({ erasureId }) => erasureId)
  return [
    warning(
      `the record of erasures and ended keys in ${record.place} lacks ${missing.length === 1 ? 'an erasure' : `${missing.length} erasures`} that the store has completed: ${ids.join(', ')}${missing.length > shown ? ' and others' : ''}`,
      'check that TIDEMARK_ARTIFACTS_URL is the same as for the servers; a process with the role worker rewrites them from the store when it starts',
    ),
  ]
}

async function damagedEntries(
  record: RemovalRecord,
  recorded: readonly RecordedErasure[],
  erasures: Pick<ErasureStore, 'hiddenAmong'>,
): Promise<readonly Finding[]> {
  const known = new Set<string>()
  for (let from = 0; from < recorded.length; from += comparedAtOnce) {
    const ids = recorded.slice(from, from + comparedAtOnce).map(({ erasureId }) => erasureId)
    for (const id of await erasures.hiddenAmong(ids)) known.add(id)
  }
  const isKnown = ({ erasureId }: RecordedErasure): boolean => known.has(erasureId)
  const inOrder = [...recorded.filter((one) => !isKnown(one)), ...recorded.filter(isKnown)]
  const findings: Finding[] = []
  const until = performance.now() + readsForMs
  let unread = 0
  for (const erasure of inOrder) {
    if (performance.now() > until) {
      unread++
      continue
    }
    const fault = await faultOf(record, erasure)
    if (fault === null) continue
    const about = `${fault.message} (${record.place})`
    if (!isKnown(erasure)) {
      findings.push(failure(about, 'do what the finding says; until then no newly started process becomes ready'))
    } else if (fault.isPermissionDenied)
      findings.push(warning(about, 'do what the finding says; the store has this erasure'))
    else {
      findings.push(
        warning(
          `${fault.message.split(': ', 1)[0]!} (${record.place})`,
          'the store has this erasure: delete its entries, then restart a process with the role worker, which rewrites them',
        ),
      )
    }
  }
  const more = findings.length - shown
  return [
    ...findings.slice(0, shown),
    ...(more > 0 ? [failure(`${more} more erasures in the record have such an entry`, 'fix the others first')] : []),
    ...(unread > 0
      ? [ok(`the entries of ${unread} erasures in the record were not checked within ${readsForMs / 1000} seconds`)]
      : []),
  ]
}

async function faultOf(
  record: RemovalRecord,
  { erasureId, names, missing }: RecordedErasure,
): Promise<DamagedEntry | null> {
  if (missing !== null) return damagedEntry(missing, erasureId)
  for (const name of names) {
    try {
      const entry = await record.read(name)
      if (entry !== null) parsePart(name, entry)
    } catch (error) {
      if (error instanceof DamagedEntry) return error
      throw error
    }
  }
  return null
}

/** Why erasures may be waiting for the record. */
async function unwritten(
  record: RemovalRecord,
  recorded: readonly RecordedErasure[],
  erasures: Pick<ErasureStore, 'unfinished'>,
  nowMs: number,
): Promise<readonly Finding[]> {
  const whole = new Set(recorded.filter(({ missing }) => missing === null).map(({ erasureId }) => erasureId))
  const waiting = (await erasures.unfinished()).filter(({ erasureId, isHidden }) => isHidden && !whole.has(erasureId))
  const ids = waiting.slice(0, shown).map(({ erasureId }) => erasureId)
  const more = waiting.length > shown ? ` and ${waiting.length - shown} more` : ''
  const wait = ids.length === 0 ? '' : `; erasures that wait for it: ${ids.join(', ')}${more}`
  const trouble = await record.unwritable()
  if (trouble !== null) {
    return [
      failure(
        `the record of erasures and ended keys in ${record.place} cannot be written: ${trouble.about}${wait}`,
        `${trouble.advice}; until then no erasure completes`,
      ),
    ]
  }
  if (!waiting.some(({ createdAt }) => nowMs - createdAt > writtenWithinMs)) return []
  return [
    warning(
      `erasures are not in the record yet, and complete only once they are: ${ids.join(', ')}${more}`,
      'check that a process with the role worker runs; the check "removals" in its /readyz says why it cannot write them',
    ),
  ]
}
