import { parentPort } from 'node:worker_threads'
import { TidemarkError, UnavailableError } from '../../src/platform/errors.ts'
import { answerCalls } from '../../src/threads/answer-calls.ts'

/** A thread or process for tests of `src/threads`. It does what it is ordered to, including exiting. */
export type Order =
  | { readonly do: 'echo'; readonly value: unknown }
  /** Never answers, until it is cancelled, and then sends a notification. */
  | { readonly do: 'hang' }
  /** Says that it will, and then stops listening: a process is stopped, a thread is busy for ever. */
  | { readonly do: 'freeze' }
  /** Sends a notification and no answer. */
  | { readonly do: 'tell' }
  | { readonly do: 'reject'; readonly error: 'plain' | 'domain' | 'unavailable' | 'no error' }
  | { readonly do: 'answer what cannot be copied' }
  | { readonly do: 'die'; readonly by: 'exit' | 'uncaught' }

const { started, failed, tell } = answerCalls<Order>({
  async answer(order) {
    switch (order.do) {
      case 'echo':
        return order.value
      case 'hang':
        return new Promise(() => {})
      case 'freeze':
        await tell({ freezing: true })
        if (parentPort === null) process.kill(process.pid, 'SIGSTOP')
        for (;;);
      case 'tell':
        await tell({ told: true })
        return new Promise(() => {})
      case 'reject':
        if (order.error === 'no error') throw 'a text'
        if (order.error === 'unavailable') throw new UnavailableError('asleep')
        if (order.error === 'plain')
          throw Object.assign(new RangeError('too far', { cause: new Error('a headwind') }), { errcode: 13 })
        throw new TidemarkError('conflict', 'no', { details: [{ path: 'a', message: 'must be b' }] })
      case 'answer what cannot be copied':
        return () => {}
      case 'die':
        if (order.by === 'exit') process.exit(3)
        setImmediate(() => {
          throw new Error('not caught')
        })
        return new Promise(() => {})
    }
  },
  cancel(call): void {
    void tell({ cancelled: call })
  },
  async end(): Promise<void> {
    await tell({ ending: true })
  },
})
if (process.argv.includes('dies at its start')) throw new Error('cannot start')
if (process.argv.includes('says that it cannot')) failed(new RangeError('nothing to work with'))
else if (!process.argv.includes('never starts')) started('here')
