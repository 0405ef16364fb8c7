import type { ChildProcess } from 'node:child_process'
import type { Transferable, Worker } from 'node:worker_threads'

export interface ChannelListener {
  message(message: unknown): void
  /** Once, when the other side is gone for good and all that it sent was heard: what it held may be given away. */
  ended(cause: Error): void
}

/** The way to a worker thread or a child process, and how its end is noticed. */
export interface Channel {
  /** Throws where the message cannot be copied. What comes too late for the other side is dropped. */
  post(message: unknown, transfer?: readonly Transferable[]): void
  listen(listener: ChannelListener): void
  /** Ends the other side in the middle of whatever it does. */
  kill(): void
  /** Whether this process stays up for the sake of the other side. */
  keepAlive(wanted: boolean): void
}

export function threadChannel(worker: Worker): Channel {
  return {
    post: (message, transfer = []) => worker.postMessage(message, transfer),
    listen({ message, ended }) {
      let fault: Error | null = null
      worker.on('message', message)
      // Without a listener what a thread did not catch would be thrown here, and end the whole process.
      worker.on('error', (error) => {
        fault = error instanceof Error ? error : new Error(String(error))
      })
      // An answer that cannot be read would be waited for in vain.
      worker.on('messageerror', (error) => {
        fault = error
        void worker.terminate()
      })
      worker.on('exit', (code) => ended(fault ?? new Error(`exit code ${code}`)))
    },
    kill: () => void worker.terminate(),
    keepAlive: (wanted) => (wanted ? worker.ref() : worker.unref()),
  }
}

export function processChannel(child: ChildProcess): Channel {
  const kill = (): void => void child.kill('SIGKILL')
  return {
    post: (message) => void child.send(message as object, () => {}),
    listen({ message, ended }) {
      let exit: Error | null = null
      // The last messages may be read after the exit is known: gone is who has exited and whose channel is at its end.
      const endWhenBoth = (): void => {
        if (exit !== null && !child.connected) ended(exit)
      }
      child.on('message', message)
      child.on('disconnect', () => {
        // Nobody can speak to it any more.
        kill()
        endWhenBoth()
      })
      child.on('error', (error) => {
        // Where the process could not be started at all there is no `exit`.
        if (child.pid === undefined) ended(error)
      })
      child.on('exit', (code, signal) => {
        exit = new Error(signal ?? `exit code ${code}`)
        endWhenBoth()
      })
    },
    kill,
    keepAlive(wanted) {
      if (wanted) {
        child.ref()
        child.channel?.ref()
      } else {
        child.unref()
        child.channel?.unref()
      }
    },
  }
}
