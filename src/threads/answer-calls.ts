import { parentPort } from 'node:worker_threads'
import { type AnswererFrame, type CallerFrame, sentError } from './frames.ts'

interface Answers<M> {
  /** The result of one call, or a promise of it. What it throws is the reply too. */
  answer(message: M, call: number): unknown
  /** The bytes of a result that go over to the caller without being copied: nobody here looks at them again. */
  handsOver?(result: unknown): readonly ArrayBuffer[]
  /** Nobody waits for that call any more. */
  cancel?(call: number): void
  /** Closes what is open, when all calls before are answered; with the last handle the thread or process ends. */
  end?(): void | Promise<void>
}

interface Caller {
  /** Says that calls may come. */
  started(result?: unknown): void
  /** Says why none ever may. A thread need not: what it throws at its start is heard anyway. */
  failed(error: unknown): void
  /** Tells what nobody asked for. Resolves when it is on its way. */
  tell(news: unknown): Promise<void>
}

/**
 * The answering side of `Calls`, for the whole of this thread or process. A process ends with its parent, however that
 * ends, and not by the signals that a terminal or a supervisor sends to the whole group: they are the parent's to act on.
 */
export function answerCalls<M>({ answer, handsOver, cancel, end }: Answers<M>): Caller {
  const fail = (call: number, error: unknown): void => post({ reply: call, error: sentError(error) })
  const reply = (call: number, message: M): void => {
    try {
      const result = answer(message, call)
      const send = (settled: unknown): void => post({ reply: call, result: settled }, handsOver?.(settled))
      // An answer that is there already goes out at once.
      if (result instanceof Promise) result.then(send).catch((error: unknown) => fail(call, error))
      else send(result)
    } catch (error) {
      fail(call, error)
    }
  }
  const receive = async (frame: CallerFrame): Promise<void> => {
    if ('call' in frame) return reply(frame.call, frame.message as M)
    if ('cancel' in frame) {
      cancel?.(frame.cancel)
      return post({ heard: frame.cancel })
    }
    await end?.()
    if (parentPort === null) process.disconnect?.()
    else parentPort.close()
  }
  if (parentPort === null) {
    process.on('disconnect', () => process.exit())
    process.on('SIGINT', () => {})
    process.on('SIGTERM', () => {})
    process.on('message', receive)
  } else parentPort.on('message', receive)
  return {
    started: (result) => post({ started: result }),
    failed: (error) => post({ failed: sentError(error) }),
    tell: (news) => new Promise((resolve) => post({ news }, [], resolve)),
  }
}

/** Throws where the frame cannot be copied. */
function post(frame: AnswererFrame, handedOver: readonly ArrayBuffer[] = [], sent: () => void = () => {}): void {
  if (parentPort === null) process.send!(frame, undefined, {}, sent)
  else {
    parentPort.postMessage(frame, [...handedOver])
    sent()
  }
}
