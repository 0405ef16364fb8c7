import { parentPort } from 'node:worker_threads'
import { TidemarkError, UnavailableError } from '../../src/platform/errors.ts'
import { answerCalls } from '../../src/threads/answer-calls.ts'

/** A command to the thread or process that tests of `src/threads` start from this file. */
export type Order =
  | { readonly do: 'echo'; readonly value: unknown }
  /** Never answers. When it is cancelled, it sends a notification. */
  | { readonly do: 'hang' }
  /** Sends a notification and stops responding: a process is stopped, a thread loops forever. */
  | { readonly do: 'freeze' }
  /** Sends a notification and never answers. */
  | { readonly do: 'notify' }
  | { readonly do: 'reject'; readonly error: 'plain' | 'domain' | 'unavailable' | 'no error' }
  | { readonly do: 'answer with a value that cannot be copied' }
  | { readonly do: 'end unexpectedly'; readonly by: 'exit' | 'uncaught' }

const { started, failed, notify } = answerCalls<Order>({
  async answer(order) {
    switch (order.do) {
      case 'echo':
        return order.value
      case 'hang':
        return new Promise(() => {})
      case 'freeze':
        await notify({ freezing: true })
        if (parentPort === null) process.kill(process.pid, 'SIGSTOP')
        for (;;);
      case 'notify':
        await notify({ notified: true })
        return new Promise(() => {})
      case 'reject':
        if (order.error === 'no error') throw 'a text'
        if (order.error === 'unavailable') throw new UnavailableError('asleep')
        if (order.error === 'plain')
          throw Object.assign(new RangeError('too far', { cause: new Error('a headwind') }), { errcode: 13 })
        throw new TidemarkError('conflict', 'no', { details: [{ path: 'a', message: 'must be b' }] })
      case 'answer with a value that cannot be copied':
        return () => {}
      case 'end unexpectedly':
        if (order.by === 'exit') process.exit(3)
        setImmediate(() => {
          throw new Error('not caught')
        })
        return new Promise(() => {})
    }
  },
  cancel(call): void {
    void notify({ cancelled: call })
  },
  async end(): Promise<void> {
    await notify({ ending: true })
  },
})
if (process.argv.includes('throws at its start')) throw new Error('cannot start')
if (process.argv.includes('reports that it cannot start')) failed(new RangeError('nothing to work with'))
else if (!process.argv.includes('never starts')) started('here')
