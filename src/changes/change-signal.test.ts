import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, suite, test } from 'node:test'
import { ChangeSignal } from './change-signal.ts'

suite('the signal of new events', () => {
  let newest = 10
  let polls = 0
  let signal: ChangeSignal
  const never = new AbortController().signal
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  /** Records whether the wait was woken, without waiting for it. */
  const watch = (timeoutMs: number, aborted = never) => {
    const state = { woken: false }
    const waiting = signal.wait(timeoutMs, aborted)
    void waiting.woken.then(() => {
      state.woken = true
    })
    return { state, stop: waiting.stop }
  }

  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] })
    newest = 10
    polls = 0
    signal = new ChangeSignal(async () => {
      polls++
      return newest
    })
  })
  afterEach(() => mock.timers.reset())

  test('an event of this process wakes all readers at once', async () => {
    const waits = [watch(30_000), watch(30_000)]
    signal.notify()
    await settled()
    assert.ok(waits.every(({ state }) => state.woken))
  })

  test('a timeout, an abort and a shutdown wake readers too', async () => {
    const controller = new AbortController()
    const [timed, aborted, closed] = [watch(500), watch(30_000, controller.signal), watch(30_000)]
    mock.timers.tick(500)
    controller.abort()
    await settled()
    assert.deepEqual([timed.state.woken, aborted.state.woken, closed.state.woken], [true, true, false])
    signal.close()
    await settled()
    assert.equal(closed.state.woken, true)
    assert.equal(signal.isClosed, true)
    const late = watch(30_000)
    await settled()
    assert.equal(late.state.woken, true)
  })

  test('an event of another process wakes readers at the next poll, from the first second on', async () => {
    const one = watch(30_000)
    signal.sawEnd(10)
    newest = 11
    mock.timers.tick(1000)
    await settled()
    assert.equal(one.state.woken, true)
  })

  test('a reader that sees new events wakes those that are behind it', async () => {
    const behind = watch(30_000)
    signal.sawEnd(10)
    newest = 12
    const ahead = watch(30_000)
    signal.sawEnd(12)
    await settled()
    assert.ok(behind.state.woken && ahead.state.woken)
  })

  test('one poll each second serves all readers, and there is none while nobody waits', async () => {
    const waits = Array.from({ length: 50 }, () => watch(30_000))
    signal.sawEnd(10)
    for (let i = 0; i < 5; i++) {
      mock.timers.tick(1000)
      await settled()
    }
    assert.equal(polls, 5)
    assert.ok(waits.every(({ state }) => !state.woken))
    for (const { stop } of waits) stop()
    mock.timers.tick(10_000)
    await settled()
    assert.equal(polls, 5)
  })

  test('a failing store wakes nobody, and waits still time out', async () => {
    signal = new ChangeSignal(async () => {
      throw new Error('gone')
    })
    const one = watch(5000)
    signal.sawEnd(10)
    mock.timers.tick(3000)
    await settled()
    assert.equal(one.state.woken, false)
    mock.timers.tick(2000)
    await settled()
    assert.equal(one.state.woken, true)
  })
})
