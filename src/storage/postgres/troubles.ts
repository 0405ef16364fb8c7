import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** The transaction was chosen to end a conflict between concurrent ones. A retry works. */
const gaveWay = new Set(['40001', '40P01', '55P03'])

/** The server is stopping, starting, or ended this connection. Class 08 is for connection errors. */
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
export function isPassing(error: unknown): boolean {
  // An open connection may be free by then.
  if (isConnectionRefusedForRoom(error)) return true
  return isConnectionLost(error) || (error instanceof pg.DatabaseError && gaveWay.has(error.code ?? ''))
}

/**
 * On a full disk the server refuses new sessions that would have to write its relation cache file, which it sometimes
 * removes. It has no error code for that; open connections go on.
 */
const isConnectionRefusedForRoom = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === 'XX000' && error.message === 'could not write init file'

/** The disk of the server has too little room for a write, or for a read that sorts too much for memory. */
export function isFullDiskError(error: unknown): boolean {
  return isConnectionRefusedForRoom(error) || (error instanceof pg.DatabaseError && error.code === '53100')
}

/** A newer version has added a column, and a prepared statement of this connection still has the old columns. */
const isPreparedTooEarly = ({ code, routine }: pg.DatabaseError): boolean =>
  code === '0A000' && routine === 'RevalidateCachedQuery'

/** The connection cannot be used any more, through no fault of the statement. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    if (isPreparedTooEarly(error)) return true
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

/** The limit for conflicts and at a start: long enough for a server that its supervisor restarts. */
const retryWithinMs = 8000
/** A caller learns within this time that the database is away, and can do something else. */
const reconnectWithinMs = 2000
const firstPauseMs = 20
const pauseMaxMs = 500

/** Thrown through `withRetries` if the work may have been done although its connection was lost. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost while a change was being committed', { cause })
    this.name = 'OutcomeUnknown'
  }
}

/**
 * Repeats the work while its errors are temporary and none of it was done. `calledAt` is when a caller began to wait;
 * null if none does. `retried` is called for every further attempt.
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
      // Random, so that transactions in conflict do not collide again.
      const waitMs = pauseMs * (0.5 + Math.random())
      const withinMs = calledAt !== null && isConnectionLost(error) ? reconnectWithinMs : retryWithinMs
      if (!isPassing(error) || Date.now() + waitMs > since + withinMs) throw error
      retried()
      await delay(waitMs)
    }
  }
}
