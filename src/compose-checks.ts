import { setTimeout } from 'node:timers/promises'
import { diskSpace, reserveSpent } from './disk-space.ts'
import { UnavailableError } from './errors.ts'
import type { Check } from './http/public-routes.ts'
import type { OpenStore } from './storage/open-store.ts'

const storeAnswersWithinMs = 2000

/** Whether the store answers, and what it has to say of itself. */
export async function storeCheck({ store, condition }: OpenStore): ReturnType<Check> {
  const late = setTimeout(storeAnswersWithinMs, 'late' as const, { ref: false })
  const first = await Promise.race([store.access.signingKeys(), late])
  if (first === 'late') throw new UnavailableError(`the database does not answer within ${storeAnswersWithinMs} ms`)
  const { ok, troubles } = condition()
  return { ok, detail: ['answers', ...troubles].join(', ') }
}

/** Whether there is room for what is written: beside the data folder, and in the store. */
export async function diskCheck(dataDir: string, shared: boolean, { lacksRoom }: OpenStore): ReturnType<Check> {
  const { state, free, isReserveSpent } = await diskSpace(dataDir)
  const refused = `writes are refused, reads go on${isReserveSpent ? `; ${reserveSpent}` : ''}`
  if (state === 'full' || (lacksRoom() && !shared))
    return { ok: false, detail: `the disk is full: ${free}, ${refused}` }
  if (lacksRoom()) return { ok: false, detail: `the disk of the database is full: ${refused}` }
  const room = state === 'low' ? `only ${free}: make room, writes are refused when it is full` : free
  return { ok: true, detail: isReserveSpent ? `${room}; ${reserveSpent}` : room }
}
