import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, mock, suite, test } from 'node:test'
import type { Order } from '../../test/support/pool-member.ts'
import { memberChannels } from '../../test/support/start-member.ts'
import { TidemarkError, UnavailableError } from '../platform/errors.ts'
import { CallLost, Calls } from './calls.ts'

const silenceMaxMs = 60_000

for (const [kind, open] of Object.entries(memberChannels)) {
  suite(`calls of a ${kind}`, () => {
    const start = (onNotification: (notification: unknown) => void = () => {}, ...args: string[]) => {
      const calls = new Calls(open(...args), { name: kind, onNotification, silenceMaxMs })
      return { calls, ask: (order: Order, signal?: AbortSignal) => calls.call(order, { signal }) }
    }
    const lost = (wasSent: boolean, message: RegExp) => (error: unknown) => {
      assert.ok(error instanceof CallLost, String(error))
      assert.equal(error.wasSent, wasSent)
      assert.match(error.message, message)
      return true
    }

    test('each gets its own reply in any order, and values of any size and type survive', async () => {
      const { calls, ask } = start()
      assert.equal(await calls.started, 'here')
      const values = [1, 'text', null, undefined, [1, { a: 2 }], Float32Array.of(1, 2), 'x'.repeat(3_000_000)]
      const replies = await Promise.all(values.map((value) => ask({ do: 'echo', value })))
      assert.deepEqual(replies, values)
      assert.equal(calls.open, 0)
      await calls.end()
    })

    test('an error keeps its message, its code and its fields, and the other side continues', async () => {
      const { calls, ask } = start()
      await assert.rejects(ask({ do: 'reject', error: 'domain' }), (error) => {
        assert.ok(error instanceof TidemarkError)
        assert.deepEqual([error.code, error.status, error.message], ['conflict', 409, 'no'])
        assert.deepEqual(error.details, [{ path: 'a', message: 'must be b' }])
        return true
      })
      await assert.rejects(ask({ do: 'reject', error: 'plain' }), (error) => {
        assert.ok(error instanceof Error)
        assert.deepEqual(
          [error.name, error.message, 'errcode' in error && error.errcode],
          ['RangeError', 'too far', 13],
        )
        assert.match(error.stack!, /pool-member/)
        assert.match((error.cause as Error).message, /headwind/)
        return true
      })
      await assert.rejects(ask({ do: 'reject', error: 'unavailable' }), UnavailableError)
      await assert.rejects(ask({ do: 'reject', error: 'no error' }), { message: 'a text' })
      await assert.rejects(ask({ do: 'answer with a value that cannot be copied' }), /could not be cloned/)
      await assert.rejects(ask({ do: 'echo', value: () => {} }), /could not be cloned/)
      assert.equal(calls.open, 0)
      assert.equal(await ask({ do: 'echo', value: 'well' }), 'well')
      await calls.end()
    })

    for (const by of ['exit', 'uncaught'] as const) {
      test(`when it exits (${by}), every open and every later call rejects, and this process continues`, async () => {
        const { calls, ask } = start()
        const open = Array.from({ length: 5 }, () => ask({ do: 'hang' }))
        const dying = ask({ do: 'end unexpectedly', by })
        for (const call of [...open, dying]) await assert.rejects(call, lost(true, new RegExp(`the ${kind} ended: `)))
        await assert.rejects(ask({ do: 'echo', value: 1 }), lost(false, /ended/))
        assert.equal(calls.open, 0)
        const cause = await calls.ended
        if (by === 'exit') assert.match(cause.message, /exit code 3/)
        await calls.end()
        await calls.kill()
      })
    }

    test('when it is killed, its open calls are rejected', async () => {
      const { calls, ask } = start()
      await calls.started
      const hanging = assert.rejects(ask({ do: 'hang' }), lost(true, /ended/))
      await calls.kill()
      await hanging
    })

    suite('that is silent', () => {
      beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
      afterEach(() => mock.timers.reset())
      const wait = (parts: number) => mock.timers.tick((parts * silenceMaxMs) / 4)
      const hung = lost(true, /it hung: no message for 60 s/)

      test('is killed during a call after the limit and not before, and its calls are rejected', async () => {
        const frozen = Promise.withResolvers<unknown>()
        const { calls, ask } = start(frozen.resolve)
        await calls.started
        const replies = ['freeze', 'hang', 'hang'] as const
        const open = Promise.allSettled(replies.map((order) => ask({ do: order })))
        // A message that is received later would interrupt the silence.
        await frozen.promise
        wait(4)
        await new Promise((resolve) => setImmediate(resolve))
        assert.equal(calls.open, 3)
        wait(1)
        for (const call of await open) assert.ok(call.status === 'rejected' && hung(call.reason))
        assert.match((await calls.ended).message, /hung/)
      })

      test('is killed even if every caller has cancelled', async () => {
        const frozen = Promise.withResolvers<unknown>()
        const { calls, ask } = start(frozen.resolve)
        const freezing = ask({ do: 'freeze' }, AbortSignal.abort())
        await assert.rejects(freezing)
        const controller = new AbortController()
        const given = ask({ do: 'freeze' }, controller.signal)
        await frozen.promise
        controller.abort(new Error('enough'))
        await assert.rejects(given, /enough/)
        assert.equal(calls.open, 0)
        wait(5)
        assert.match((await calls.ended).message, /hung/)
      })

      test('is not killed while nothing is expected of it, or while it sends notifications', async () => {
        let notified = () => {}
        const { calls, ask } = start(() => notified())
        await calls.started
        wait(20)
        const controller = new AbortController()
        const open: Promise<unknown>[] = []
        for (let i = 0; i < 8; i++) {
          const { promise, resolve } = Promise.withResolvers<void>()
          notified = resolve
          open.push(ask({ do: 'notify' }, controller.signal))
          await promise
          wait(4)
        }
        controller.abort(new Error('enough'))
        for (const call of open) await assert.rejects(call, /enough/)
        assert.equal(await ask({ do: 'echo', value: 'well' }), 'well')
        wait(20)
        assert.equal(await ask({ do: 'echo', value: 'well' }), 'well')
        await calls.end()
      })

      test('is killed, too, during its start or its end', async () => {
        const { calls: starting } = start(() => {}, 'never starts')
        wait(5)
        await assert.rejects(starting.started, lost(false, /hung/))
        const frozen = Promise.withResolvers<unknown>()
        const { calls: ending, ask } = start(frozen.resolve)
        const given = new AbortController()
        const freezing = ask({ do: 'freeze' }, given.signal)
        await frozen.promise
        given.abort(new Error('enough'))
        await assert.rejects(freezing, /enough/)
        const gone = ending.end()
        wait(5)
        await gone
      })
    })

    test('a start that fails rejects', async () => {
      const { calls } = start(() => {}, 'throws at its start')
      await assert.rejects(calls.started, lost(false, kind === 'thread' ? /cannot start/ : /exit code 1/))
      await calls.ended
    })

    test('a failed start that the other side reports rejects', async () => {
      const { calls } = start(() => {}, 'reports that it cannot start')
      await assert.rejects(calls.started, { name: 'RangeError', message: 'nothing to work with' })
      await calls.kill()
    })

    test('on end, it answers its open calls, sends its last notification and exits', async () => {
      const notifications: unknown[] = []
      const { calls, ask } = start((notification) => notifications.push(notification))
      const echo = ask({ do: 'echo', value: 'last' })
      await calls.end()
      assert.equal(await echo, 'last')
      assert.deepEqual(notifications, [{ ending: true }])
    })

    test('a cancelled call rejects with the reason, and the other side is notified', async () => {
      const notified = Promise.withResolvers<unknown>()
      const { calls, ask } = start(notified.resolve)
      const controller = new AbortController()
      const hanging = ask({ do: 'hang' }, controller.signal)
      controller.abort(new Error('enough'))
      await assert.rejects(hanging, /enough/)
      assert.deepEqual(await notified.promise, { cancelled: 1 })
      await assert.rejects(ask({ do: 'echo', value: 1 }, controller.signal), /enough/)
      const quiet = new AbortController()
      await ask({ do: 'echo', value: 1 }, quiet.signal)
      assert.equal(getEventListeners(quiet.signal, 'abort').length, 0)
      assert.equal(calls.open, 0)
      await calls.end()
    })
  })
}
