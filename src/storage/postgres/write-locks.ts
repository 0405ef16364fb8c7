import type { Office } from '../open-store.ts'
import type { Write, WriteLock } from '../sql/store-calls.ts'

/**
 * One writer at a time for each port, over all processes: the lock is taken first and ends with the transaction. This
 * is what the single writing thread is to SQLite, and the same promises rest on it. An event's number is given out
 * under the lock and visible before the next writer has it, so the order of numbers is the order in which events become
 * visible; so it is with index revisions; and what a method has read stays true until it has written.
 *
 * Ports do not wait for each other, and readers wait for nobody. `sql/store-calls.ts` says which call takes which locks.
 *
 * A number stays what it is for ever: during an upgrade processes of two versions write side by side, and exclude each
 * other by it. What is new gets a number that was never used.
 */
export const lockNumbers = {
  access: 0,
  operator: 1,
  content: 2,
  changes: 3,
  catalog: 4,
  indexSource: 5,
  live: 6,
  analysis: 7,
  exportSource: 8,
  erasures: 9,
  searchTexts: 10,
  tokens: 50,
  migration: 100,
  vectors: 101,
  copy: 102,
  feeding: 103,
} as const satisfies Record<WriteLock | Office | 'migration' | 'copy', number>

type Lock = keyof typeof lockNumbers

/** The first half of the lock's number, so that other users of the same database are unlikely to meet it. */
const lockSpace = 0x7464_6d6b

export function beginWriting({ locks, mayBeLost }: Write): string {
  return begin(mayBeLost ? ['set local synchronous_commit = off'] : [], locks)
}

const begin = (settings: readonly string[], locks: readonly Lock[]): string =>
  ['begin', ...settings, ...locks.map((lock) => `select ${lockCall('pg_advisory_xact_lock', lock)}`)].join('; ')

/** Migrations of one database, one process at a time. */
export const beginMigrating = begin(['set local lock_timeout = 0', 'set local statement_timeout = 0'], ['migration'])

/** Who holds an office; a session does, for as long as it lasts. */
export const electionCall = (office: Office): string => tryLock(office)

/** One at a time copies into a database. */
export const copyCall = tryLock('copy')

function tryLock(lock: Lock): string {
  return `select ${lockCall('pg_try_advisory_lock', lock)} as taken`
}

function lockCall(name: string, lock: Lock): string {
  return `${name}(${lockSpace}, ${lockNumbers[lock]})`
}
