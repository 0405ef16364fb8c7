import type { Cursors } from '../platform/cursors.ts'
import { TidemarkError } from '../platform/errors.ts'
import { dayMs } from '../platform/time.ts'
import {
  type ChangeLog,
  type ChangeQuery,
  type Expiry,
  type FeedPosition,
  type FeedState,
  type PackedFeedPosition,
  type PassedEvent,
  packPosition,
  unpackPosition,
  type VisibleEvent,
} from './change-log.ts'
import type { ChangeSignal } from './change-signal.ts'

/** How long events and cursors stay valid. */
export const retentionDays = 30
export const retentionMs = retentionDays * dayMs

/** The number of events that one call to the store scans, and how long one request goes on scanning for matches. */
const scanMax = 20_000
const scanForMs = 1000

export interface ChangesRequest {
  /** The values that the cursor is bound to: the application and every filter, in a fixed order. */
  readonly binding: unknown
  /** The position to read after. Null: from the earliest event that is kept. */
  readonly after: number | null
  /** The last event that the reader has passed, if the cursor knows it. */
  readonly passed?: PassedEvent | null
  readonly limit: number
  readonly waitMs: number
  readonly aborted: AbortSignal
  /** Called again after a wait, because the entitlements may have changed meanwhile. */
  readonly filter: () => Omit<ChangeQuery, 'after' | 'passed' | 'limit' | 'scanMax'>
  /** Holds the response while there is no event to return. */
  readonly hold: (woken: Promise<void>) => Promise<void>
}

/**
 * Returns one page of the feed. The cursor also moves past events that do not match, so that a narrow filter does not
 * scan them again. At the end of the feed an empty page is held for up to `waitMs`.
 */
export async function readChanges(
  request: ChangesRequest,
  log: Pick<ChangeLog, 'read'>,
  signal: ChangeSignal,
  cursors: Cursors,
): Promise<{ events: VisibleEvent[]; nextCursor: string; position: number; atEnd: boolean }> {
  let { after, passed = null } = request
  const waitUntil = Date.now() + request.waitMs
  for (;;) {
    // Waiting begins before the read, so that an event between the read and the wait is not missed.
    const waiting = signal.wait(waitUntil - Date.now(), request.aborted)
    try {
      const page = await readPage(log, request, after, passed)
      after = page.position
      passed = page.passed
      if (page.atEnd) signal.sawEnd(page.position)
      const over = Date.now() >= waitUntil || request.aborted.aborted || signal.isClosed
      if (page.events.length > 0 || !page.atEnd || over) {
        const { events, position, atEnd } = page
        return { events, nextCursor: cursors.sign(request.binding, packPosition(page)), position, atEnd }
      }
      await request.hold(waiting.woken)
    } finally {
      waiting.stop()
    }
  }
}

/** Returns the feed position of a cursor; null without a cursor. Throws if the cursor cannot be used. */
export async function feedPositionOf(
  cursor: string | null,
  binding: unknown,
  feed: KnownFeed,
  cursors: Cursors,
): Promise<FeedPosition | null> {
  if (cursor === null) return null
  const opened = await cursors.open<PackedFeedPosition>(cursor, binding)
  if (!opened.ok) {
    const message =
      opened.reason === 'other'
        ? 'this cursor belongs to another application or to other filters: repeat the original request with it, or start without a cursor'
        : 'this cursor was not issued by this service: send next_cursor exactly as returned'
    throw new TidemarkError('invalid_cursor', message, { details: [{ path: 'cursor', message: 'is not valid here' }] })
  }
  const reached = unpackPosition(opened.position)
  if (Date.now() - opened.issuedAt > retentionMs || reached.position < (await feed.removedThrough())) throw expired()
  return reached
}

/**
 * How long the state of the feed is cached. Retention removes events only every few minutes, and each read checks
 * again.
 */
const knownForMs = 1000

/**
 * Returns the expiry at this moment: older events can no longer be read, even if they are not removed yet. `known` is
 * an earlier result, which saves the store a scan.
 */
export function expiryNow(known?: { readonly before: number; readonly through: number }): Expiry {
  const before = Date.now() - retentionMs
  return { before, knownThrough: known !== undefined && known.before <= before ? known.through : 0 }
}

/** Caches the state of the feed and of its retention, so that not every page reads it from the store. */
export class KnownFeed {
  #log: Pick<ChangeLog, 'state'>
  #state: Promise<FeedState> = Promise.resolve({ newest: 0, removedThrough: 0, last: null })
  #newest = 0
  #expired = { before: 0, through: 0 }
  #requestedAt = Number.NEGATIVE_INFINITY

  constructor(log: Pick<ChangeLog, 'state'>) {
    this.#log = log
  }

  async removedThrough(): Promise<number> {
    return (await this.#known()).removedThrough
  }

  /** The number of events after the position, from the cached state. */
  eventsAfter(position: number): number {
    return Math.max(0, this.#newest - position)
  }

  #known(): Promise<FeedState> {
    if (Date.now() - this.#requestedAt >= knownForMs) {
      this.#requestedAt = Date.now()
      const expiry = expiryNow(this.#expired)
      this.#state = this.#log.state(expiry).then((state) => {
        this.#newest = state.newest
        this.#expired = { before: expiry.before, through: state.removedThrough }
        return state
      })
      // The calls that share this request get the failure. The next call tries again.
      this.#state.catch(() => {
        this.#requestedAt = Number.NEGATIVE_INFINITY
      })
    }
    return this.#state
  }
}

export const expired = (): TidemarkError =>
  new TidemarkError(
    'cursor_expired',
    `events are kept for ${retentionDays} days, and some after this cursor have been removed: export everything again with GET /v1/export, then follow the feed from its changes_cursor`,
    { details: [{ path: 'cursor', message: 'is too old: start over with GET /v1/export' }] },
  )

/** For a store that was rolled back: it no longer has the events that the reader has passed. */
export const rolledBackError = (): TidemarkError =>
  new TidemarkError(
    'cursor_expired',
    'the service was rolled back to an earlier state, and events before this cursor no longer exist: export everything again with GET /v1/export, then follow the feed from its changes_cursor',
    { details: [{ path: 'cursor', message: 'belongs to events that were lost: start over with GET /v1/export' }] },
  )

async function readPage(
  log: Pick<ChangeLog, 'read'>,
  request: ChangesRequest,
  start: number | null,
  lastPassed: PassedEvent | null,
) {
  const until = Date.now() + scanForMs
  const events: VisibleEvent[] = []
  let limit = request.limit
  let after = start
  let passed = lastPassed
  for (;;) {
    const page = await log.read({ ...request.filter(), after, passed, limit, scanMax })
    // Retention may have removed events since the cursor was checked.
    if (after !== null && after < page.removedThrough) throw expired()
    if (page.wasRolledBack) throw rolledBackError()
    events.push(...page.events)
    limit -= page.events.length
    after = page.position
    passed = page.passed
    if (limit === 0 || page.atEnd || Date.now() > until) {
      return { events, position: after, passed, atEnd: page.atEnd }
    }
  }
}
