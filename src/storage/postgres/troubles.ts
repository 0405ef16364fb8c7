import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

/** Of concurrent transactions one was chosen to give way: the same again will do. */
const gaveWay = new Set(['40001', '40P01', '55P03'])

/** The server is going away, starting, or ended this connection; class 08 is about connections altogether. */
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

/** A trouble that passes: the same again, a little later, may well do. */
export function isPassing(error: unknown): boolean {
  // One that is connected already may be free by then.
  if (isConnectionRefusedForRoom(error)) return true
  return isConnectionLost(error) || (error instanceof pg.DatabaseError && gaveWay.has(error.code ?? ''))
}

/**
 * On a full disk the server lets nobody in who would have to write its file of what connections begin with, which it
 * removes now and then. It has no code for that; those that are connected go on.
 */
const isConnectionRefusedForRoom = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === 'XX000' && error.message === 'could not write init file'

/** What was asked needs more room than there is on a disk of the server: a write, or a read that sorts too much for memory. */
export function isFullDiskError(error: unknown): boolean {
  return isConnectionRefusedForRoom(error) || (error instanceof pg.DatabaseError && error.code === '53100')
}

/** A newer version has added to a table, and statements that the connection has prepared know it as it was. */
const isPreparedTooEarly = ({ code, routine }: pg.DatabaseError): boolean =>
  code === '0A000' && routine === 'RevalidateCachedQuery'

/** The connection is of no more use, through no fault of what was asked. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    if (isPreparedTooEarly(error)) return true
    return serverGone.has(error.code ?? '') || (error.code ?? '').startsWith('08')
  }
  if (!(error instanceof Error)) return false
  if (networkCodes.has((error as NodeJS.ErrnoException).code ?? '')) return true
  // An attempt on every address of a host fails with all their errors together.
  if (error instanceof AggregateError) return error.errors.some(isConnectionLost)
  // The driver's own words: it has no codes for these.
  return /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered)/.test(
    error.message,
  )
}

/** For what gave way to others, and for a start: long enough for a server that is started again by its keeper. */
const retryWithinMs = 8000
/** A caller is told within this time that the database is away, and can do something else. */
const reconnectWithinMs = 2000
const firstPauseMs = 20
const pauseMaxMs = 500

/** Thrown through `withRetries` when the work may have been done although its connection was lost. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection to the database was lost while a change was being committed', { cause })
    this.name = 'OutcomeUnknown'
  }
}

/**
 * Does the work again while the trouble is one that passes and none of it was done. `calledAt` is when a caller began to
 * wait for it; null where nobody does. `retried` hears of every further attempt.
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
      // Spread out, so that those that met do not meet again.
      const waitMs = pauseMs * (0.5 + Math.random())
      const withinMs = calledAt !== null && isConnectionLost(error) ? reconnectWithinMs : retryWithinMs
      if (!isPassing(error) || Date.now() + waitMs > since + withinMs) throw error
      retried()
      await delay(waitMs)
    }
  }
}
