import type { ChildProcess } from 'node:child_process'
import type { Transferable, Worker } from 'node:worker_threads'

export interface ChannelListener {
  message(message: unknown): void
  /**
   * Called once, when the other side has ended and everything it sent was received. Its resources may then be reused.
   */
  ended(cause: Error): void
}

/** The connection to a worker thread or a child process, and the detection of its end. */
export interface Channel {
  /** Throws if the message cannot be copied. A message that is posted after the end is dropped. */
  post(message: unknown, transfer?: readonly Transferable[]): void
  listen(listener: ChannelListener): void
  /** Kills the other side, whatever it is doing. */
  kill(): void
  /** Whether the other side keeps this process alive. */
  keepAlive(isNeeded: boolean): void
}

export function threadChannel(worker: Worker): Channel {
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen({ message, ended }) {
      let fault: Error | null = null
      worker.on('message', message)
      // Without a listener, an uncaught error of the thread would be thrown here and end the whole process.
      worker.on('error', (error) => {
        fault = error instanceof Error ? error : new Error(String(error))
      })
      // A reply that cannot be deserialised would never settle its call.
      worker.on('messageerror', (error) => {
        fault = error
        void worker.terminate()
      })
      worker.on('exit', (code) => ended(fault ?? new Error(`exit code ${code}`)))
    },
    kill: () => void worker.terminate(),
    keepAlive: (isNeeded) => (isNeeded ? worker.ref() : worker.unref()),
  }
}

export function processChannel(child: ChildProcess): Channel {
  const kill = (): void => void child.kill('SIGKILL')
  return {
    post: (message) => void child.send(message as object, () => {}),
    listen({ message, ended }) {
      let exit: Error | null = null
      // The last messages may arrive after the exit event, so the end is reported once both exit and disconnect were
      // seen.
      const endWhenBoth = (): void => {
        if (exit !== null && !child.connected) ended(exit)
      }
      child.on('message', message)
      child.on('disconnect', () => {
        // The process cannot be reached any more.
        kill()
        endWhenBoth()
      })
      child.on('error', (error) => {
        // A process that could not be started emits no `exit`.
        if (child.pid === undefined) ended(error)
      })
      child.on('exit', (code, signal) => {
        exit = new Error(signal ?? `exit code ${code}`)
        endWhenBoth()
      })
    },
    kill,
    keepAlive(isNeeded) {
      if (isNeeded) {
        child.ref()
        child.channel?.ref()
      } else {
        child.unref()
        child.channel?.unref()
      }
    },
  }
}
