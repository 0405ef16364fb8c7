import { hash } from 'node:crypto'
import type { Election } from '../open-store.ts'
import type { Write, WriteLock } from '../sql/store-calls.ts'

/**
 * Advisory locks: one writer at a time for each port, over all processes. The lock is taken first and ends with the
 * transaction. It has the role of the single writer thread in SQLite, and gives the same guarantees. The number of an
 * event is assigned under the lock and visible before the next writer has the lock, so events become visible in the
 * order of their numbers. The same holds for index revisions. Data that a method has read stays valid until it has
 * written.
 *
 * Ports do not wait for each other, and readers wait for nobody. `sql/store-calls.ts` says which call takes which
 * locks.
 *
 * A number never changes, because processes of two versions write side by side during an upgrade and exclude each other
 * by it. A new lock gets a number that was never used.
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
  history: 11,
  clock: 12,
  tokens: 50,
  migration: 100,
  vectors: 101,
  copy: 102,
  feeding: 103,
} as const satisfies Record<WriteLock | Extract<Election, 'vectors' | 'feeding'> | 'migration' | 'copy', number>

type Lock = keyof typeof lockNumbers | Election

/** The election of a version has a negative number, a hash of its name. The others have the numbers above. */
function numberOf(lock: Lock): number {
  return lock in lockNumbers
    ? lockNumbers[lock as keyof typeof lockNumbers]
    : -1 - (Buffer.from(hash('sha256', lock, 'buffer')).readUInt32BE() >>> 1)
}

/** The first half of the lock's number, which makes a clash with other users of the same database unlikely. */
const lockSpace = 0x7464_6d6b

export function beginWriting({ locks, mayBeLost }: Write): string {
  return begin(mayBeLost ? ['set local synchronous_commit = off'] : [], locks)
}

const begin = (settings: readonly string[], locks: readonly Lock[]): string =>
  ['begin', ...settings, ...locks.map((lock) => `select ${lockCall('pg_advisory_xact_lock', lock)}`)].join('; ')

/** Migrations of one database run in one process at a time. */
export const beginMigrating = begin(['set local lock_timeout = 0', 'set local statement_timeout = 0'], ['migration'])

/** Makes the session leader of an election if there is none, until the session ends. */
export const electionCall = (election: Election): string => tryLock(election)

/** Whether any session leads an election. PostgreSQL lists the halves of a lock's number as unsigned. */
export const hasLeaderCall = (election: Election): string => `
  select exists (
    select from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where datname = current_database() and locktype = 'advisory' and granted
      and classid = ${lockSpace} and objid = ${numberOf(election) >>> 0} and objsubid = 2
  ) as held`

/** Only one copy into a database runs at a time. */
export const copyCall = tryLock('copy')

function tryLock(lock: Lock): string {
  return `select ${lockCall('pg_try_advisory_lock', lock)} as taken`
}

function lockCall(name: string, lock: Lock): string {
  return `${name}(${lockSpace}, ${numberOf(lock)})`
}
