import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/**
 * Serialization failure, deadlock and lock timeout: the transaction lost a conflict with another one. A retry works.
 */
const conflictCodes = new Set(['40001', '40P01', '55P03'])

/**
 * The server is stopping or starting, has too many connections, or ended this one. Class 08 is for connection errors.
 */
const serverGone = new Set(['57P01', '57P02', '57P03', '25P03', '53300'])

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])

/** A temporary error: a retry a little later may work. */
export function isTransient(error: unknown): boolean {
  // By then, a connection that is already open may be free.
  if (isConnectionRefusedByFullDisk(error)) return true
  return isConnectionLost(error) || (error instanceof pg.DatabaseError && conflictCodes.has(error.code ?? ''))
}

/**
 * On a full disk the server refuses a new session if that has to write the relation cache file, which the server
 * sometimes removes. There is no error code for this. Open connections continue to work.
 */
const isConnectionRefusedByFullDisk = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === 'XX000' && error.message === 'could not write init file'

/** The disk of the server has too little room for a write, or for a read that sorts more than fits into memory. */
export function isFullDiskError(error: unknown): boolean {
  return isConnectionRefusedByFullDisk(error) || (error instanceof pg.DatabaseError && error.code === '53100')
}

/** A newer version has added a column, and a prepared statement of this connection still has the old columns. */
const hasStalePlan = ({ code, routine }: pg.DatabaseError): boolean =>
  code === '0A000' && routine === 'RevalidateCachedQuery'

/** The connection cannot be used any more, through no fault of the statement. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    if (hasStalePlan(error)) return true
    return serverGone.has(error.code ?? '') || (error.code ?? '').startsWith('08')
  }
  if (!(error instanceof Error)) return false
  if (networkCodes.has((error as NodeJS.ErrnoException).code ?? '')) return true
  // An attempt on every address of a host fails with all their errors together.
  if (error instanceof AggregateError) return error.errors.some(isConnectionLost)
  // Messages of the driver, which has no codes for these.
  return /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered)/.test(
    error.message,
  )
}

/** The limit for conflicts, and for the start of a process. It is long enough for a database to be restarted. */
const retryWithinMs = 8000
/** A caller learns within this time that the database is away, and can do something else. */
const reconnectWithinMs = 2000
const firstPauseMs = 20
const pauseMaxMs = 500

/** The work may have been done although its connection was lost, so `withRetries` does not repeat it. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost while a change was being committed', { cause })
    this.name = 'OutcomeUnknown'
  }
}

/**
 * Repeats the work with exponential backoff while its errors are temporary. `calledAt` is when a caller began to wait,
 * or null if none does. `retried` is called for every further attempt.
 */
export async function withRetries<T>(
  work: () => Promise<T>,
  calledAt: number | null = null,
  retried: () => void = () => {},
): Promise<T> {
  const since = calledAt ?? Date.now()
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMaxMs, pauseMs * 2)) {
    try {
      return await work()
    } catch (error) {
      // Random jitter, so that transactions in conflict do not collide again.
      const waitMs = pauseMs * (0.5 + Math.random())
      const withinMs = calledAt !== null && isConnectionLost(error) ? reconnectWithinMs : retryWithinMs
      if (!isTransient(error) || Date.now() + waitMs > since + withinMs) throw error
      retried()
      await delay(waitMs)
    }
  }
}
