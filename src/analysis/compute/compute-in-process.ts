/**
 * The parent's side of a computing process. A worker thread was rejected, because ending a thread during a run of the
 * native runtime aborts the whole server, and because a computation that runs out of memory must not take the server
 * with it. A cancel kills the process at once.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CallLost, Calls } from '../../threads/calls.ts'
import { processChannel } from '../../threads/channel.ts'
import { nativeProcessEnv } from '../../threads/native-process-env.ts'
import type { InputPortion } from '../algorithm.ts'
import type { ComputeCall, Computed, ComputeJob } from './compute-process.ts'
import { watchProcessorTime } from './watch-processor-time.ts'

export interface ComputeWork {
  readonly job: ComputeJob
  readonly portions: AsyncIterable<InputPortion>
  readonly signal: AbortSignal
  readonly progress: (done: number) => void
}

/** Long, because the process has the lowest priority and may have to wait for minutes. */
const silenceMaxMs = 10 * 60_000
/** Even at the lowest priority, a process that is not stopped gets some CPU within this time. */
const idleMaxMs = 3 * 60_000

/** Resolves when the files are complete and on disk; rejects when the process fails or the signal fires. */
export async function computeInProcess(
  { job, portions, signal, progress }: ComputeWork,
  limits = { idleMaxMs },
): Promise<Computed> {
  signal.throwIfAborted()
  const child = fork(fileURLToPath(new URL('./compute-process.ts', import.meta.url)), [], {
    env: nativeProcessEnv(),
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const calls = new Calls(processChannel(child), {
    name: `process of ${job.type}`,
    onNotification: (done) => progress(done as number),
    silenceMaxMs,
  })
  let openRequests = 0
  const ask = async (call: ComputeCall): Promise<unknown> => {
    openRequests++
    try {
      return await calls.call(call)
    } finally {
      openRequests--
    }
  }
  const kill = (): void => void calls.kill()
  let hung: CallLost | null = null
  const unwatch = watchProcessorTime(child.pid, {
    idleMaxMs: limits.idleMaxMs,
    isExpected: () => openRequests > 0,
    onIdle: () => {
      const message = `the ${job.type} process hung: it used no CPU for ${limits.idleMaxMs / 1000} s`
      hung = new CallLost(message, true, null)
      kill()
    },
  })
  signal.addEventListener('abort', kill, { once: true })
  try {
    await ask({ type: 'job', job })
    for await (const portion of portions) {
      await ask({ type: 'portion', portion })
      signal.throwIfAborted()
    }
    const computed = (await ask({ type: 'finish' })) as Computed
    // The computation may have finished while the signal fired.
    signal.throwIfAborted()
    return computed
  } catch (error) {
    throw signal.aborted ? signal.reason : (hung ?? error)
  } finally {
    signal.removeEventListener('abort', kill)
    unwatch()
    // The process must have ended before its files are removed.
    await calls.kill()
  }
}
