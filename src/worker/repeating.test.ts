import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '../../test/support/until.ts'
import { silentIncidents } from '../platform/incidents.ts'
import type { WriteNotifications } from '../platform/write-notifications.ts'
import { repeat } from './repeating.ts'

suite('a repeating job', () => {
  test('continues at once while there is more, then pauses until it is woken', async () => {
    let left = 5
    let runs = 0
    const job = repeat(
      'j',
      60_000,
      async () => {
        runs++
        return --left > 0
      },
      silentIncidents,
    )
    await until('it has run so often', () => runs === 5)
    await sleep(30)
    assert.equal(runs, 5)
    left = 2
    job.wake()
    await until('it has run so often', () => runs === 7)
    await job.stop()
  })

  test('pauses for longer after some idle runs, until it is woken', async () => {
    let runs = 0
    const work = async () => {
      runs++
      return false
    }
    const job = repeat('j', { everyMs: 1, whenIdleMs: 60_000 }, work, silentIncidents)
    await until('it rests', () => runs === 10)
    await sleep(30)
    assert.equal(runs, 10)
    job.wake()
    await until('it runs as often as before', () => runs === 20)
    await sleep(30)
    assert.equal(runs, 20)
    await job.stop()
  })

  test('with notifications it rests until the next one, and then runs as often as before', async () => {
    let runs = 0
    const listeners = new Set<() => void>()
    const notifications: WriteNotifications = {
      follow(listener) {
        listeners.add(listener)
        return { end: () => void listeners.delete(listener) }
      },
    }
    const notify = () => {
      for (const listener of listeners) listener()
    }
    let due: boolean | number = false
    const work = async () => {
      runs++
      return due
    }
    const pauses = { everyMs: 1, whenIdleMs: 2, notifications, rest: { afterMs: 20, forMs: 60_000 } }
    const job = repeat('j', pauses, work, silentIncidents)
    const resting = async (): Promise<number> => {
      for (let before = -1; before !== runs; await sleep(50)) before = runs
      return runs
    }
    await until('it is idle', () => runs >= 10)
    const first = await resting()
    notify()
    await until('it runs as often again', () => runs >= first + 10)
    await resting()
    // Work becomes due at a known time, without a notification.
    due = 1
    const second = runs
    notify()
    await until('it continues', () => runs > second + 60)
    due = false
    await resting()
    await job.stop()
    assert.equal(listeners.size, 0)
  })

  test('a notification ends only a rest, and no other pause', async () => {
    let runs = 0
    let notify = () => {}
    const notifications: WriteNotifications = {
      follow(listener) {
        notify = listener
        return { end() {} }
      },
    }
    const work = async () => {
      runs++
      return false
    }
    const job = repeat('j', { everyMs: 60_000, whenIdleMs: 60_000, notifications }, work, silentIncidents)
    await until('it was called', () => runs === 1)
    for (let i = 0; i < 5; i++) {
      notify()
      await sleep(5)
    }
    assert.equal(runs, 1)
    await job.stop()
  })

  test('woken during a run, it runs again', async () => {
    let runs = 0
    const gate = Promise.withResolvers<void>()
    const job = repeat(
      'j',
      60_000,
      async () => {
        runs++
        if (runs === 1) await gate.promise
        return false
      },
      silentIncidents,
    )
    await until('it has run so often', () => runs === 1)
    job.wake()
    gate.resolve()
    await until('it has run so often', () => runs === 2)
    await job.stop()
  })

  test('never runs twice at once, and a stop waits for the current run', async () => {
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

  test('every failure and every success is reported', async () => {
    let runs = 0
    const reported: string[] = []
    const job = repeat(
      'j',
      1,
      async () => {
        if (++runs <= 3) throw new Error('down')
        return false
      },
      { failed: (name, error) => reported.push(`${name} ${error}`), worked: (name) => reported.push(`${name} worked`) },
    )
    await until('it has run so often', () => runs >= 4)
    await job.stop()
    assert.deepEqual(reported.slice(0, 4), ['j Error: down', 'j Error: down', 'j Error: down', 'j worked'])
  })

  test('the pauses after failures grow, however often it is woken', async () => {
    let runs = 0
    const job = repeat(
      'j',
      10,
      async () => {
        runs++
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
    assert.ok(runs <= 6, `${runs} runs`)
  })
})
