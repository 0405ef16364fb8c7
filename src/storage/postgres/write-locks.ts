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

export function beginWriting(port: keyof Store, method: string): string {
  const also = further[`${port}.${method}`]
  const locks = also === undefined ? [port] : [port, also]
  return ['begin', ...locks.map((one) => `select ${lockCall('pg_advisory_xact_lock', ports.indexOf(one))}`)].join('; ')
}

/** Migrations of one database, one process at a time. */
export const beginMigrating = `begin; set local lock_timeout = 0; set local statement_timeout = 0; select ${lockCall('pg_advisory_xact_lock', 100)}`

export const claimCall = (): string => `select ${lockCall('pg_try_advisory_lock', 101)} as taken`

function lockCall(name: string, number: number): string {
  return `${name}(${tidemark}, ${number})`
}
