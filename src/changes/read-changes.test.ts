import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Cursors, type SigningKey } from '../platform/cursors.ts'
import {
  type ChangeLog,
  type ChangePage,
  type ChangeQuery,
  defaultEventTypes,
  type VisibleEvent,
} from './change-log.ts'
import { ChangeSignal } from './change-signal.ts'
import { type ChangesRequest, feedPositionOf, KnownFeed, readChanges } from './read-changes.ts'

const keys: SigningKey[] = []
const cursors = await Cursors.load({
  signingKeys: async () => keys,
  addSigningKey: async (key) => {
    keys.unshift(key)
    return keys
  },
})

/** Only every `matching`-th event matches the reader's filter. */
class Log implements ChangeLog {
  newest = 0
  removedThrough = 0
  reads: (number | null)[] = []
  matching = 1

  async read({ after, limit, scanMax }: ChangeQuery): Promise<ChangePage> {
    this.reads.push(after)
    const from = after ?? this.removedThrough
    const last = Math.min(this.newest, from + scanMax)
    const events: VisibleEvent[] = []
    for (let sequence = from + 1; sequence <= last && events.length < limit; sequence++) {
      if (sequence % this.matching === 0) events.push({ sequence } as VisibleEvent)
    }
    const position = events.length === limit ? events.at(-1)!.sequence : Math.max(from, last)
    const { newest, removedThrough } = this
    return {
      events,
      position,
      atEnd: position >= newest,
      removedThrough,
      passed: null,
      wasRolledBack: false,
    }
  }

  async state() {
    return { newest: this.newest, removedThrough: this.removedThrough, last: null }
  }

  async knows(): Promise<boolean> {
    return true
  }

  async removeBefore(): Promise<number> {
    return 0
  }
}

async function positionOfCursor(cursor: string | null, binding: unknown, log: Log, signer: Cursors) {
  return (await feedPositionOf(cursor, binding, new KnownFeed(log), signer))?.position ?? null
}

const request = (fields: Partial<ChangesRequest> = {}): ChangesRequest => ({
  binding: 'b',
  after: null,
  limit: 100,
  waitMs: 0,
  aborted: new AbortController().signal,
  filter: () => ({ scope: { entries: [] }, eventTypes: defaultEventTypes, ingestedFrom: null, ingestedTo: null }),
  hold: (woken) => woken,
  ...fields,
})

const sequencesOf = ({ events }: Pick<ChangePage, 'events'>) => events.map(({ sequence }) => sequence)

suite('a page of changes', () => {
  test('skips events that do not match, and its cursor is after them', async () => {
    const log = new Log()
    log.newest = 100_000
    log.matching = 30_000
    const page = await readChanges(request({ limit: 2 }), log, new ChangeSignal(async () => 0), cursors)
    assert.deepEqual(sequencesOf(page), [30_000, 60_000])
    assert.equal(await positionOfCursor(page.nextCursor, 'b', log, cursors), 60_000)
    const last = await readChanges(request({ after: 60_000 }), log, new ChangeSignal(async () => 0), cursors)
    assert.deepEqual(sequencesOf(last), [90_000])
    assert.equal(await positionOfCursor(last.nextCursor, 'b', log, cursors), 100_000)
  })

  test('an event between the read and the wait is not missed', async () => {
    const log = new Log()
    const signal = new ChangeSignal(async () => log.newest)
    const read = log.read.bind(log)
    log.read = async (query) => {
      const page = await read(query)
      if (log.reads.length === 1) {
        log.newest = 1
        signal.notify()
      }
      return page
    }
    let waits = 0
    const hold = (woken: Promise<void>) => {
      waits++
      return woken
    }
    const page = await readChanges(request({ waitMs: 20_000, hold }), log, signal, cursors)
    assert.deepEqual(sequencesOf(page), [1])
    assert.equal(waits, 1)
  })

  test('removal of events between cursor and read gives 410, never a gap', async () => {
    const log = new Log()
    log.newest = 50
    const cursor = cursors.sign('b', 10)
    const after = await positionOfCursor(cursor, 'b', log, cursors)
    log.removedThrough = 20
    const signal = new ChangeSignal(async () => 0)
    await assert.rejects(readChanges(request({ after }), log, signal, cursors), { code: 'cursor_expired' })
    await assert.rejects(positionOfCursor(cursor, 'b', log, cursors), { code: 'cursor_expired' })
    const first = await readChanges(request(), log, signal, cursors)
    assert.equal(first.events[0]!.sequence, 21)
    assert.equal(await positionOfCursor(cursors.sign('b', 20), 'b', log, cursors), 20)
  })

  test('a cursor is valid for 30 days', async () => {
    const log = new Log()
    const dayMs = 86_400_000
    assert.equal(await positionOfCursor(cursors.sign('b', 0, Date.now() - 30 * dayMs + 60_000), 'b', log, cursors), 0)
    const old = cursors.sign('b', 0, Date.now() - 30 * dayMs - 1)
    await assert.rejects(positionOfCursor(old, 'b', log, cursors), { code: 'cursor_expired' })
    await assert.rejects(positionOfCursor(old, 'c', log, cursors), { code: 'invalid_cursor' })
    assert.equal(await positionOfCursor(null, 'b', log, cursors), null)
  })

  test('the state of retention is read at most once a second, and again after a failure', async () => {
    const log = new Log()
    let requests = 0
    const removed = new KnownFeed({
      state: async () => {
        requests++
        if (requests === 1) throw new Error('gone')
        return log.state()
      },
    })
    await assert.rejects(removed.removedThrough(), /gone/)
    await Promise.all(Array.from({ length: 100 }, () => removed.removedThrough()))
    assert.equal(requests, 2)
  })
})
