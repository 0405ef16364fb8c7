import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../test/support/until.ts'
import { silentIncidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { repeat } from './repeating.ts'

suite('a repeating job', () => {
  test('goes on at once while there is more, then pauses until it is woken', async () => {
    let left = 5
    let turns = 0
    const job = repeat(
      'j',
      60_000,
      async () => {
        turns++
        return --left > 0
      },
      silentIncidents,
    )
    await until('it is so', () => turns === 5)
    await sleep(30)
    assert.equal(turns, 5)
    left = 2
    job.wake()
    await until('it is so', () => turns === 7)
    await job.stop()
  })

  test('rests longer after some turns without anything to do, until it is woken', async () => {
    let turns = 0
    const work = async () => {
      turns++
      return false
    }
    const job = repeat('j', { everyMs: 1, whenIdleMs: 60_000 }, work, silentIncidents)
    await until('it rests', () => turns === 10)
    await sleep(30)
    assert.equal(turns, 10)
    job.wake()
    await until('it is as quick as before', () => turns === 20)
    await sleep(30)
    assert.equal(turns, 20)
    await job.stop()
  })

  test('if writes are notified it rests until one is, and then has its pace again', async () => {
    let turns = 0
    const listeners = new Set<() => void>()
    const notifications: WriteNotifications = {
      follow(listener) {
        listeners.add(listener)
        return { end: () => void listeners.delete(listener) }
      },
    }
    const tell = () => {
      for (const listener of listeners) listener()
    }
    let due: boolean | number = false
    const work = async () => {
      turns++
      return due
    }
    const pauses = { everyMs: 1, whenIdleMs: 2, notifications, rest: { afterMs: 20, forMs: 60_000 } }
    const job = repeat('j', pauses, work, silentIncidents)
    const resting = async (): Promise<number> => {
      for (let before = -1; before !== turns; await sleep(50)) before = turns
      return turns
    }
    await until('it looks some times', () => turns >= 10)
    const first = await resting()
    tell()
    await until('it looks as often again', () => turns >= first + 10)
    await resting()
    // Work becomes due at a known time, without a notification.
    due = 1
    const second = turns
    tell()
    await until('it goes on', () => turns > second + 60)
    due = false
    await resting()
    await job.stop()
    assert.equal(listeners.size, 0)
  })

  test('a notification does not end a pause other than its rest', async () => {
    let turns = 0
    let tell = () => {}
    const notifications: WriteNotifications = {
      follow(listener) {
        tell = listener
        return { end() {} }
      },
    }
    const work = async () => {
      turns++
      return false
    }
    const job = repeat('j', { everyMs: 60_000, whenIdleMs: 60_000, notifications }, work, silentIncidents)
    await until('it was called', () => turns === 1)
    for (let i = 0; i < 5; i++) {
      tell()
      await sleep(5)
    }
    assert.equal(turns, 1)
    await job.stop()
  })

  test('woken in the middle of a turn, it takes another', async () => {
    let turns = 0
    const gate = Promise.withResolvers<void>()
    const job = repeat(
      'j',
      60_000,
      async () => {
        turns++
        if (turns === 1) await gate.promise
        return false
      },
      silentIncidents,
    )
    await until('it is so', () => turns === 1)
    job.wake()
    gate.resolve()
    await until('it is so', () => turns === 2)
    await job.stop()
  })

  test('never twice at once, and a stop waits for the turn under way', async () => {
    let running = 0
    let most = 0
    const job = repeat(
      'j',
      1,
      async () => {
        most = Math.max(most, ++running)
        await sleep(20)
        running--
        return true
      },
      silentIncidents,
    )
    for (let i = 0; i < 10; i++) {
      job.wake()
      await sleep(3)
    }
    await job.stop()
    assert.equal(running, 0)
    assert.equal(most, 1)
  })

  test('every failed turn is reported, and so is every one that is done', async () => {
    let turns = 0
    const told: string[] = []
    const job = repeat(
      'j',
      1,
      async () => {
        if (++turns <= 3) throw new Error('down')
        return false
      },
      { failed: (name, error) => told.push(`${name} ${error}`), worked: (name) => told.push(`${name} worked`) },
    )
    await until('it is so', () => turns >= 4)
    await job.stop()
    assert.deepEqual(told.slice(0, 4), ['j Error: down', 'j Error: down', 'j Error: down', 'j worked'])
  })

  test('the pauses after failures grow, however often it is woken', async () => {
    let turns = 0
    const job = repeat(
      'j',
      10,
      async () => {
        turns++
        throw new Error('down')
      },
      silentIncidents,
    )
    const end = performance.now() + 300
    while (performance.now() < end) {
      job.wake()
      await sleep(5)
    }
    await job.stop()
    // After 20, 60, 140 and 300 ms.
    assert.ok(turns <= 6, `${turns} turns`)
  })
})
