/**
 * The parent's end of a computing process. Not a worker thread: ending a thread in the middle of a run of the native
 * runtime aborts the whole server, and a computation that runs out of memory must not take the server with it. Ending
 * the process is how a run is cancelled: at once, whatever it is doing.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Calls } from '../../threads/calls.ts'
import { processChannel } from '../../threads/channel.ts'
import type { InputPortion } from '../algorithm.ts'
import type { ComputeCall, Computed, ComputeJob } from './compute-process.ts'

export interface ComputeWork {
  readonly job: ComputeJob
  readonly portions: AsyncIterable<InputPortion>
  readonly signal: AbortSignal
  readonly progress: (done: number) => void
}

/** It yields to everything else, and may have to for minutes. */
const silenceMaxMs = 10 * 60_000

/** Resolves when the files are complete and on disk; rejects when the process fails or the signal fires. */
export async function computeInProcess({ job, portions, signal, progress }: ComputeWork): Promise<Computed> {
  signal.throwIfAborted()
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEMARK_')))
  const child = fork(fileURLToPath(new URL('./compute-process.ts', import.meta.url)), [], {
    env,
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const calls = new Calls(processChannel(child), {
    name: `process of ${job.type}`,
    onNews: (done) => progress(done as number),
    silenceMaxMs,
  })
  const ask = (call: ComputeCall): Promise<unknown> => calls.call(call)
  const kill = (): void => void calls.kill()
  signal.addEventListener('abort', kill, { once: true })
  try {
    await ask({ type: 'job', job })
    for await (const portion of portions) {
      await ask({ type: 'portion', portion })
      signal.throwIfAborted()
    }
    return (await ask({ type: 'finish' })) as Computed
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', kill)
    // The process is gone before anybody removes what it wrote.
    await calls.kill()
  }
}
