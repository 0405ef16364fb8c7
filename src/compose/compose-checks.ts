import { setTimeout } from 'node:timers/promises'
import type { Check } from '../http/public-routes.ts'
import { type LossNow, lossInWords } from '../operator/examine-history.ts'
import { diskSpace, reserveSpent } from '../platform/disk-space.ts'
import { UnavailableError } from '../platform/errors.ts'
import type { Config } from '../settings/config.ts'
import { artifactTrouble } from '../storage/artifact-stores.ts'
import type { OpenStore } from '../storage/open-store.ts'

const storeAnswersWithinMs = 2000

/** Whether the store answers, with its own report on its condition. */
export async function storeCheck(
  { store, condition }: OpenStore,
  loss: LossNow,
  clock: string | null,
): ReturnType<Check> {
  const late = setTimeout(storeAnswersWithinMs, 'late' as const, { ref: false })
  const first = await Promise.race([store.access.signingKeys(), late])
  if (first === 'late') throw new UnavailableError(`the database does not answer within ${storeAnswersWithinMs} ms`)
  const { ok, troubles } = condition()
  const told = [loss === null ? null : lossInWords(loss), clock].filter((one) => one !== null)
  return { ok, detail: ['answers', ...troubles, ...told].join(', ') }
}

/**
 * Whether results of analysis can be stored. Checked until they can. A network folder may become unavailable later: runs
 * then wait or fail, and everything else continues.
 */
export function artifactsCheck(config: Pick<Config, 'artifactsUrl' | 'dataDir'>): Check {
  let couldBeKept = false
  return async () => {
    const trouble = couldBeKept ? null : await artifactTrouble(config)
    couldBeKept = trouble === null
    return { ok: couldBeKept, detail: trouble ?? 'could be written at the start' }
  }
}

/** Whether there is space for writes, on the disk of the data folder and in the store. */
export async function diskCheck(dataDir: string, shared: boolean, { lacksRoom }: OpenStore): ReturnType<Check> {
  const { state, free, isReserveSpent } = await diskSpace(dataDir)
  const refused = `writes are refused, reads continue${isReserveSpent ? `; ${reserveSpent}` : ''}`
  if (state === 'full' || (lacksRoom() && !shared))
    return { ok: false, detail: `the disk is full: ${free}, ${refused}` }
  if (lacksRoom()) return { ok: false, detail: `the disk of the database is full: ${refused}` }
  const room =
    state === 'low' ? `only ${free}: free some space, because writes are refused when the disk is full` : free
  return { ok: true, detail: isReserveSpent ? `${room}; ${reserveSpent}` : room }
}
