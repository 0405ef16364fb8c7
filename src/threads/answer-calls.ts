import { parentPort } from 'node:worker_threads'
import { type AnswererFrame, type CallerFrame, sentError } from './frames.ts'

interface Answers<M> {
  /** Returns the result of one call, or a promise of it. An error that it throws is sent as the reply. */
  answer(message: M, call: number): unknown
  /** Called when the caller has cancelled that call. */
  cancel?(call: number): void
  /** Releases resources after all earlier calls are answered. The thread or process ends with its last handle. */
  end?(): void | Promise<void>
}

interface Caller {
  /** Reports that this side is ready for calls. */
  started(result?: unknown): void
  /**
   * Reports why this side will never be ready. A thread need not call it, because an error that it throws while
   * starting is reported anyway.
   */
  failed(error: unknown): void
  /** Sends a notification, which is not a reply. Resolves when it has been sent. */
  notify(notification: unknown): Promise<void>
}

/**
 * The answering side of `Calls`, for the whole of this thread or process. A process ends when its parent does. It
 * ignores the signals that a terminal or a supervisor sends to the whole group, because the parent acts on them.
 */
export function answerCalls<M>({ answer, cancel, end }: Answers<M>): Caller {
  const fail = (call: number, error: unknown): void => post({ reply: call, error: sentError(error) })
  const reply = (call: number, message: M): void => {
    try {
      const result = answer(message, call)
      const send = (settled: unknown): void => post({ reply: call, result: settled })
      // A result that is not a promise is sent at once.
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
      return post({ acknowledged: frame.cancel })
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
    notify: (notification) => new Promise((resolve) => post({ notification }, resolve)),
  }
}

/** Throws if the frame cannot be copied. */
function post(frame: AnswererFrame, sent: () => void = () => {}): void {
  if (parentPort === null) process.send!(frame, undefined, {}, sent)
  else {
    parentPort.postMessage(frame)
    sent()
  }
}
