import type { Store } from '../sql/sql-store.ts'

/**
 * One writer at a time for each port, over all processes: the lock is taken first and ends with the transaction. This
 * is what the single writing thread is to SQLite, and the same promises rest on it. An event's number is given out
 * under the lock and visible before the next writer has it, so the order of numbers is the order in which events become
 * visible; so it is with index revisions; and what a method has read stays true until it has written.
 *
 * Ports do not wait for each other, and readers wait for nobody.
 */
const ports = ['access', 'operator', 'content', 'changes', 'catalog', 'indexSource', 'live', 'analysis'] as const

/** The first half of the lock's number, so that other users of the same database are unlikely to meet it. */
const tidemark = 0x7464_6d6b

/** What a method needs besides the lock of its own port; always in this order, so that none waits in a circle. */
const further: Partial<Record<string, keyof Store>> = { 'live.deliver': 'content' }

/**
 * Requests wait for it, and what a crash takes back does no harm: it waits neither for the port's other writers nor for
 * the disk.
 */
const hasty = 'access.takeTokens'
const hastyLock = 50

export interface Writing {
  /** Calls of one queue wait for each other in the process, or each would hold a connection while it waits. */
  readonly queue: string
  readonly begin: string
}

export function writingOf(port: keyof Store, method: string): Writing {
  const name = `${port}.${method}`
  if (name === hasty) return { queue: hasty, begin: begin(['set local synchronous_commit = off'], [hastyLock]) }
  const also = further[name]
  const locks = also === undefined ? [ports.indexOf(port)] : [ports.indexOf(port), ports.indexOf(also)]
  return { queue: port, begin: begin([], locks) }
}

const begin = (settings: readonly string[], locks: readonly number[]): string =>
  ['begin', ...settings, ...locks.map((lock) => `select ${lockCall('pg_advisory_xact_lock', lock)}`)].join('; ')

/** Migrations of one database, one process at a time. */
export const beginMigrating = begin(['set local lock_timeout = 0', 'set local statement_timeout = 0'], [100])

/** Held by a session for as long as it lasts. */
export const claimCall = tryLock(101)

/** One at a time copies into a database. */
export const copyCall = tryLock(102)

function tryLock(number: number): string {
  return `select ${lockCall('pg_try_advisory_lock', number)} as taken`
}

function lockCall(name: string, number: number): string {
  return `${name}(${tidemark}, ${number})`
}
