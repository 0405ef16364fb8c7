import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { afterEach, mock, suite, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { PoolEvents } from '../../test/support/pool-events.ts'
import type { Order } from '../../test/support/pool-member.ts'
import { memberChannels } from '../../test/support/start-member.ts'
import { CallLost, Calls } from './calls.ts'
import type { Channel, ChannelListener } from './channel.ts'
import { Pool, type PoolOptions } from './pool.ts'

for (const [kind, open] of Object.entries(memberChannels)) {
  suite(`a pool, each a ${kind}`, () => {
    const pools: Pool[] = []
    afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.kill(new Error('the test has ended')))))

    /** A pool, the members that it started, with their positions, and the positions that it freed. */
    const pooled = (options: Partial<PoolOptions> & { fails?: (start: number) => boolean } = {}) => {
      const { fails = () => false, ...rest } = options
      const starts: { position: number; calls: Calls }[] = []
      const freed: number[] = []
      const events = new PoolEvents()
      const pool = new Pool({
        name: 'p',
        size: 3,
        callsPerMember: 1,
        watch: events,
        restMs: 1,
        restMaxMs: 4,
        free: (position) => freed.push(position),
        start: (position) => {
          const args = fails(starts.length) ? ['throws at its start'] : []
          const calls = new Calls(open(...args), { name: kind })
          starts.push({ position, calls })
          return { calls }
        },
        ...rest,
      })
      pools.push(pool)
      const ask = (order: Order, signal?: AbortSignal) => pool.call(order, { signal })
      return { pool, starts, freed, events, ask }
    }
    const echo: Order = { do: 'echo', value: 'here' }
    const isLost = (error: unknown): boolean => error instanceof CallLost

    test('an exited member is reported, freed and replaced, and the others answer meanwhile', async () => {
      const { pool, starts, freed, events, ask } = pooled()
      await events.serving('p', 3)
      const death = events.nextExit('p')
      await starts[1]!.calls.kill()
      await death
      assert.equal(pool.trouble, 'p: 1 of 3 exited and are not replaced yet')
      for (let i = 0; i < 100; i++) assert.equal(await ask(echo), 'here')
      await events.serving('p', 3)
      assert.deepEqual([events.exits, events.replacements, freed, pool.trouble], [['p'], ['p'], [1], null])
      assert.deepEqual(
        starts.map(({ position }) => position),
        [0, 1, 2, 1],
      )
      await pool.end()
      assert.deepEqual([events.count('p'), events.exits.length], [0, 1])
    })

    test('a member that hangs is killed, reported and replaced like one that exited; waiting calls are answered', async (t) => {
      t.mock.timers.enable({ apis: ['setInterval'] })
      const frozen = Promise.withResolvers<unknown>()
      const silenceMaxMs = 60_000
      const { pool, events, ask } = pooled({
        size: 1,
        start: () => ({ calls: new Calls(open(), { name: kind, onNotification: frozen.resolve, silenceMaxMs }) }),
      })
      const hanging = assert.rejects(ask({ do: 'freeze' }), (error) => isLost(error) && /hung/.test(String(error)))
      const waiting = ask(echo)
      await frozen.promise
      t.mock.timers.tick(2 * silenceMaxMs)
      await hanging
      assert.equal(await waiting, 'here')
      assert.deepEqual([events.exits, events.replacements, pool.trouble], [['p'], ['p'], null])
      await pool.end()
    })

    test('the call that made a member exit rejects; waiting calls and those of others are answered', async () => {
      const { pool, ask } = pooled({ size: 2 })
      await pool.open()
      const results = await Promise.allSettled([
        ask({ do: 'end unexpectedly', by: 'uncaught' }),
        ...Array.from({ length: 20 }, () => ask(echo)),
      ])
      const [exited, ...others] = results
      assert.ok(exited!.status === 'rejected' && isLost(exited!.reason))
      assert.deepEqual(new Set(others.map(({ status }) => status)), new Set(['fulfilled']))
      await pool.end()
    })

    test('all members exit at once: calls that arrive meanwhile wait for the replacements', async () => {
      const { pool, starts, events, ask } = pooled()
      await events.serving('p', 3)
      await Promise.all(starts.map(({ calls }) => calls.kill()))
      assert.deepEqual(await Promise.all([ask(echo), ask(echo)]), ['here', 'here'])
      await pool.end()
    })

    test('a member that keeps exiting is restarted after growing pauses; meanwhile a call is rejected at once', async () => {
      const { pool, events, ask } = pooled({ size: 1, fails: (start) => start < 5, restMs: 1, restMaxMs: 4 })
      await assert.rejects(ask(echo), isLost)
      await events.serving('p', 1)
      assert.equal(await ask(echo), 'here')
      assert.deepEqual(events.rests, [0, 1, 2, 4, 4])
      const death = events.nextExit('p')
      await assert.rejects(ask({ do: 'end unexpectedly', by: 'exit' }), isLost)
      await death
      assert.equal(events.rests.at(-1), 0, 'one that had answered is replaced at once')
      await pool.end()
    })

    test('a replacement serves when it is ready, not before', async () => {
      const admission = Promise.withResolvers<void>()
      const { pool, events, ask } = pooled({
        size: 1,
        start: () => {
          const calls = new Calls(open(), { name: kind })
          return { calls, ready: Promise.all([calls.started, admission.promise]) }
        },
      })
      let answered = false
      const waiting = ask(echo).then(() => {
        answered = true
      })
      await new Promise((resolve) => setImmediate(resolve))
      assert.deepEqual([pool.serving, answered, pool.load], [0, false, 1])
      admission.resolve()
      await waiting
      assert.equal(events.count('p'), 1)
      await pool.end()
    })

    test('a member that fails to become ready is ended and started again', async () => {
      let starts = 0
      const { pool, events, ask } = pooled({
        size: 1,
        start: () => {
          const calls = new Calls(open(), { name: kind })
          return { calls, ready: starts++ === 0 ? Promise.reject(new Error('not now')) : calls.started }
        },
      })
      await assert.rejects(ask(echo), isLost)
      assert.equal(await ask(echo), 'here')
      assert.deepEqual([events.exits.length, events.replacements.length], [1, 1])
      await pool.end()
    })

    test('another member starts when a call has waited for long enough, not for a short burst', async () => {
      let clock = 0
      mock.method(performance, 'now', () => clock)
      mock.timers.enable({ apis: ['setTimeout'] })
      try {
        const { pool, starts, ask } = pooled({ kept: 1, size: 2, patienceMs: 100 })
        const burst = Array.from({ length: 20 }, () => ask(echo))
        assert.deepEqual(new Set(await Promise.all(burst)), new Set(['here']))
        const controller = new AbortController()
        const hanging = Promise.allSettled([1, 2].map(() => ask({ do: 'hang' }, controller.signal)))
        clock += 99
        mock.timers.tick(99)
        assert.equal(starts.length, 1)
        clock += 1
        mock.timers.tick(1)
        assert.equal(starts.length, 2)
        controller.abort()
        await hanging
        await pool.end()
      } finally {
        mock.timers.reset()
        mock.restoreAll()
      }
    })

    test('time during which the calling thread was busy does not count as waiting', async () => {
      let clock = 0
      mock.method(performance, 'now', () => clock)
      mock.timers.enable({ apis: ['setTimeout'] })
      try {
        const { pool, starts, ask } = pooled({ kept: 1, size: 2, patienceMs: 100 })
        await ask(echo)
        const controller = new AbortController()
        const hanging = Promise.allSettled([1, 2].map(() => ask({ do: 'hang' }, controller.signal)))
        const passes = (ms: number, lateMs = 0): void => {
          clock += ms + lateMs
          mock.timers.tick(ms)
        }
        passes(100, 50)
        assert.equal(starts.length, 1)
        passes(99)
        assert.equal(starts.length, 1)
        passes(1, 50)
        assert.equal(starts.length, 2)
        controller.abort()
        await hanging
        await pool.end()
      } finally {
        mock.timers.reset()
        mock.restoreAll()
      }
    })

    test('a call that has waited for long enough when a member starts gets the next one, and Node prints no warning', async (t) => {
      const warned = t.mock.method(process, 'emitWarning', () => {})
      const { pool, starts, events, ask } = pooled({ kept: 1, size: 3, patienceMs: 1 })
      const controller = new AbortController()
      const hanging = Promise.allSettled([1, 2, 3].map(() => ask({ do: 'hang' }, controller.signal)))
      await events.serving('p', 3)
      assert.deepEqual([starts.length, warned.mock.callCount()], [3, 0])
      controller.abort()
      await hanging
      await pool.end()
    })

    test('more members start when calls wait, but no more than the size of the pool', async () => {
      const { pool, starts, ask } = pooled({ kept: 0, size: 2 })
      assert.equal(starts.length, 0)
      assert.equal(await ask(echo), 'here')
      assert.equal(starts.length, 1)
      const controller = new AbortController()
      const hanging = Promise.allSettled([1, 2].map(() => ask({ do: 'hang' }, controller.signal)))
      const waiting = ask(echo)
      while (pool.serving < 2) await new Promise((resolve) => setImmediate(resolve))
      assert.equal(pool.load, 3)
      controller.abort()
      assert.equal(await waiting, 'here')
      await hanging
      assert.equal(starts.length, 2)
      await pool.end()
    })

    test('a call that only one member takes waits for it; later calls overtake it and go to any free member', async () => {
      const odd: Order = { do: 'echo', value: 'odd' }
      const takes = (position: number, order: unknown) => position === 0 || order === echo
      const { pool, starts, ask } = pooled({ kept: 0, size: 2, takes })
      const controller = new AbortController()
      const hanging = assert.rejects(ask({ do: 'hang' }, controller.signal))
      let answered = false
      const waiting = ask(odd).then((answer) => {
        answered = true
        return answer
      })
      assert.equal(await ask(echo), 'here')
      assert.equal(await ask(echo), 'here')
      assert.deepEqual([answered, starts.length], [false, 2])
      controller.abort()
      await hanging
      assert.equal(await waiting, 'odd')
      await pool.end()
    })

    test('if all may end, the first idle member ends too, and starts again with the next call', async () => {
      const { pool, starts, ask } = pooled({ kept: 0, size: 1, idleTimeoutMs: 1, endsAllWhenIdle: true })
      assert.equal(await ask(echo), 'here')
      while (pool.serving > 0) await delay(1)
      assert.equal(await ask(echo), 'here')
      assert.equal(starts.length, 2)
      await pool.end()
    })

    test('opening rejects with the cause if no member serves, and nothing is started after it', async () => {
      const { pool, starts, events, ask } = pooled({ size: 1, fails: () => true })
      await assert.rejects(pool.open(), kind === 'thread' ? /cannot start/ : /exit code 1/)
      await assert.rejects(ask(echo))
      assert.deepEqual([starts.length, events.exits], [1, []])
      await pool.end()
    })

    test('a call that is cancelled while it waits rejects at once and is never sent', async () => {
      const { pool, ask } = pooled({ size: 1 })
      await pool.open()
      const stop = new AbortController()
      const hanging = ask({ do: 'hang' }, stop.signal)
      const controller = new AbortController()
      const waiting = ask({ do: 'end unexpectedly', by: 'exit' }, controller.signal)
      controller.abort(new Error('enough'))
      await assert.rejects(waiting, /enough/)
      await assert.rejects(ask(echo, controller.signal), /enough/)
      const after = ask(echo)
      stop.abort(new Error('over'))
      await assert.rejects(hanging, /over/)
      assert.equal(await after, 'here')
      for (const { signal } of [stop, controller]) assert.equal(getEventListeners(signal, 'abort').length, 0)
      await pool.end()
    })

    test('ending answers waiting calls, killing does not, and after both no member is left', async () => {
      const { pool, ask } = pooled({ size: 1 })
      const waiting = Promise.all([ask(echo), ask(echo), ask(echo)])
      await pool.end()
      assert.deepEqual(await waiting, ['here', 'here', 'here'])
      await assert.rejects(ask(echo), /closed/)

      const { pool: other, starts, ask: askOther } = pooled({ size: 1 })
      await other.open()
      const results = Promise.allSettled([askOther({ do: 'hang' }), askOther(echo)])
      await other.kill(new Error('no more'))
      const [hanging, queued] = await results
      assert.ok(hanging!.status === 'rejected' && isLost(hanging!.reason))
      assert.ok(queued!.status === 'rejected' && queued!.reason.message === 'no more')
      assert.equal(starts.length, 1)
      await assert.rejects(askOther(echo), /no more/)
    })
  })
}

/** The last reply of a thread and its end can arrive at the same time. */
test('a member that ends with its last reply gets no more calls: its replacement gets the waiting ones', async () => {
  const listeners: ChannelListener[] = []
  const start = () => {
    const numbers: number[] = []
    const channel: Channel = {
      listen: (listener) => void listeners.push(listener),
      post: (frame) => void numbers.push((frame as { call: number }).call),
      kill: () => {},
      keepAlive: () => {},
    }
    const calls = new Calls(channel, { name: 'member' })
    listeners.at(-1)!.message({ started: null })
    return { calls, numbers }
  }
  const members: ReturnType<typeof start>[] = []
  const pool = new Pool({
    name: 'p',
    size: 1,
    callsPerMember: 1,
    watch: new PoolEvents(),
    start: () => {
      members.push(start())
      return members.at(-1)!
    },
  })
  await pool.open()
  const answers = Promise.all(['a', 'b', 'c'].map((message) => pool.call(message)))
  listeners[0]!.message({ reply: 1, result: 'first' })
  listeners[0]!.ended(new Error('gone'))
  for (let reply = 1; reply <= 2; reply++) {
    while (members[1]?.numbers.length !== reply) await new Promise((resolve) => setImmediate(resolve))
    listeners[1]!.message({ reply, result: reply })
  }
  assert.deepEqual(await answers, ['first', 1, 2])
})
