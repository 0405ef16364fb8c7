import { setTimeout } from 'node:timers/promises'
import type { Check } from '../http/public-routes.ts'
import { type LastLoss, lossInWords } from '../operator/examine-history.ts'
import { diskSpace, reserveSpent } from '../platform/disk-space.ts'
import { UnavailableError } from '../platform/errors.ts'
import type { Config } from '../settings/config.ts'
import { artifactTrouble } from '../storage/artifact-stores.ts'
import type { OpenStore } from '../storage/open-store.ts'

const storeAnswersWithinMs = 2000

/** Checks whether the store answers, and reports its faults, its last loss of data and a wrong clock. */
export async function storeCheck(
  { store, condition }: OpenStore,
  loss: LastLoss,
  clock: string | null,
): ReturnType<Check> {
  const late = setTimeout(storeAnswersWithinMs, 'late' as const, { ref: false })
  const first = await Promise.race([store.access.signingKeys(), late])
  if (first === 'late') throw new UnavailableError(`the database does not answer within ${storeAnswersWithinMs} ms`)
  const { ok, troubles } = condition()
  const warnings = [loss === null ? null : lossInWords(loss), clock].filter((one) => one !== null)
  return { ok, detail: ['answers', ...troubles, ...warnings].join(', ') }
}

/**
 * Checks whether analysis results can be stored. The check passes from its first success on, because an artifact folder
 * that becomes unavailable later affects only analysis runs.
 */
export function artifactsCheck(config: Pick<Config, 'artifactsUrl' | 'dataDir'>): Check {
  let isWritable = false
  return async () => {
    const trouble = isWritable ? null : await artifactTrouble(config)
    isWritable = trouble === null
    return { ok: isWritable, detail: trouble ?? 'could be written at the start' }
  }
}

/** Checks whether there is space for writes, on the disk of the data folder and in the store. */
export async function diskCheck(dataDir: string, shared: boolean, { isDiskFull }: OpenStore): ReturnType<Check> {
  const { state, free, isReserveSpent } = await diskSpace(dataDir)
  const refused = `writes are refused, reads continue${isReserveSpent ? `; ${reserveSpent}` : ''}`
  if (state === 'full' || (isDiskFull() && !shared))
    return { ok: false, detail: `the disk is full: ${free}, ${refused}` }
  if (isDiskFull()) return { ok: false, detail: `the disk of the database is full: ${refused}` }
  const room =
    state === 'low' ? `only ${free}: free some space, because writes are refused when the disk is full` : free
  return { ok: true, detail: isReserveSpent ? `${room}; ${reserveSpent}` : room }
}
