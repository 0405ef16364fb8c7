import type { Cursors } from '../cursors.ts'
import { TidemarkError } from '../errors.ts'
import { dayMs } from '../time.ts'
import type { ChangeLog, ChangeQuery, FeedState } from './change-log.ts'
import type { ChangeSignal } from './change-signal.ts'

/** How long events stay readable, and how long a cursor does. */
export const retentionDays = 30
export const retentionMs = retentionDays * dayMs

/** Events looked at by one call to the store, and for how long one request goes on looking for matches. */
const scanMax = 20_000
const scanForMs = 1000

export interface ChangesRequest {
  /** What the cursor is bound to: the application and every filter, in a fixed order. */
  readonly binding: unknown
  /** The position to read after, from `startOf`; null = from the earliest event that is kept. */
  readonly after: number | null
  readonly limit: number
  readonly waitMs: number
  readonly aborted: AbortSignal
  readonly filter: Omit<ChangeQuery, 'after' | 'limit' | 'scanMax'>
  /** Called before the request only waits. */
  readonly waiting: () => void
}

/**
 * One page of the feed. The cursor moves over events that do not match, so that a narrow filter does not look at them
 * again; at the end of the feed an empty page is held for `waitMs`.
 */
export async function readChanges(
  request: ChangesRequest,
  log: Pick<ChangeLog, 'read'>,
  signal: ChangeSignal,
  cursors: Cursors,
): Promise<{ text: string; nextCursor: string; position: number; atEnd: boolean }> {
  let { after } = request
  const waitUntil = Date.now() + request.waitMs
  for (;;) {
    // Waiting begins before the look, so that an event between the look and the wait is not missed.
    const waiting = signal.wait(waitUntil - Date.now(), request.aborted)
    try {
      const page = await readPage(log, request, after)
      after = page.position
      if (page.atEnd) signal.sawEnd(page.position)
      const over = Date.now() >= waitUntil || request.aborted.aborted || signal.isClosed
      if (page.text !== '' || !page.atEnd || over) {
        const { text, position, atEnd } = page
        return { text, nextCursor: cursors.sign(request.binding, position), position, atEnd }
      }
      request.waiting()
      await waiting.woken
    } finally {
      waiting.stop()
    }
  }
}

/** The position a cursor stands for; null without one. Throws for a cursor that cannot be used. */
export async function positionOfCursor(
  cursor: string | null,
  binding: unknown,
  feed: KnownFeed,
  cursors: Cursors,
): Promise<number | null> {
  if (cursor === null) return null
  const opened = await cursors.open<number>(cursor, binding)
  if (!opened.ok) {
    const message =
      opened.reason === 'other'
        ? 'this cursor belongs to another application or to other filters: repeat the original request with it, or start without a cursor'
        : 'this cursor was not issued by this service: send next_cursor exactly as returned'
    throw new TidemarkError('invalid_cursor', message, { details: [{ path: 'cursor', message: 'is not valid here' }] })
  }
  if (Date.now() - opened.issuedAt > retentionMs || opened.position < (await feed.removedThrough())) throw expired()
  return opened.position
}

/** Retention moves every some minutes; a page that is read checks for itself again. */
const knownForMs = 1000

/** How far the feed and its retention have come, without asking the store for every page. */
export class KnownFeed {
  #log: Pick<ChangeLog, 'state'>
  #state: Promise<FeedState> = Promise.resolve({ newest: 0, removedThrough: 0 })
  #newest = 0
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(log: Pick<ChangeLog, 'state'>) {
    this.#log = log
  }

  async removedThrough(): Promise<number> {
    return (await this.#known()).removedThrough
  }

  /** As far as is known without asking, so many came after the position. */
  eventsAfter(position: number): number {
    return Math.max(0, this.#newest - position)
  }

  #known(): Promise<FeedState> {
    if (Date.now() - this.#askedAt >= knownForMs) {
      this.#askedAt = Date.now()
      this.#state = this.#log.state().then((state) => {
        this.#newest = state.newest
        return state
      })
      // A failure is for those that ask now; the next asks again.
      this.#state.catch(() => {
        this.#askedAt = Number.NEGATIVE_INFINITY
      })
    }
    return this.#state
  }
}

export const expired = (): TidemarkError =>
  new TidemarkError(
    'cursor_expired',
    `events are kept for ${retentionDays} days, and some after this cursor are gone: export everything again with GET /v1/export, then follow the feed from its changes_cursor`,
    { details: [{ path: 'cursor', message: 'is too old: start over with GET /v1/export' }] },
  )

async function readPage(log: Pick<ChangeLog, 'read'>, request: ChangesRequest, start: number | null) {
  const until = Date.now() + scanForMs
  const texts: string[] = []
  let limit = request.limit
  let after = start
  for (;;) {
    const page = await log.read({ ...request.filter, after, limit, scanMax })
    // Retention may have come between the look at the cursor and this one.
    if (after !== null && after < page.removedThrough) throw expired()
    if (page.count > 0) texts.push(page.text)
    limit -= page.count
    after = page.position
    if (limit === 0 || page.atEnd || Date.now() > until) {
      return { text: texts.join(), position: after, atEnd: page.atEnd }
    }
  }
}
