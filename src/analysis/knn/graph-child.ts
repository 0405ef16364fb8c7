/**
 * The parent's end of a graph's process. Not a worker thread: ending a thread in the middle of a run of the native
 * runtime aborts the whole server, and a graph that runs out of memory must not take the server with it. Ending the
 * process is how a run is cancelled: at once, whatever it is doing.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Calls } from '../../threads/calls.ts'
import { processChannel } from '../../threads/channel.ts'
import type { GraphCost, GraphJob, NodePortion } from './compute-graph.ts'
import type { WrittenFile } from './edge-table.ts'
import type { GraphCall } from './graph-process.ts'

export interface GraphWork {
  readonly job: GraphJob
  readonly portions: AsyncIterable<NodePortion>
  readonly signal: AbortSignal
  readonly progress: (done: number) => void
}

/** It yields to everything else, and may have to for minutes. */
const silenceMaxMs = 10 * 60_000

/** Resolves when the file is complete and on disk; rejects when the process fails or the signal fires. */
export async function computeGraph({ job, portions, signal, progress }: GraphWork): Promise<WrittenFile & GraphCost> {
  signal.throwIfAborted()
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TIDEMARK_')))
  const child = fork(fileURLToPath(new URL('./graph-process.ts', import.meta.url)), [], {
    env,
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const calls = new Calls(processChannel(child), {
    name: "graph's process",
    onNews: (done) => progress(done as number),
    silenceMaxMs,
  })
  const ask = (call: GraphCall): Promise<unknown> => calls.call(call)
  const kill = (): void => void calls.kill()
  signal.addEventListener('abort', kill, { once: true })
  try {
    await ask({ type: 'job', job })
    for await (const portion of portions) {
      await ask({ type: 'nodes', portion })
      signal.throwIfAborted()
    }
    return (await ask({ type: 'compute' })) as WrittenFile & GraphCost
  } catch (error) {
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', kill)
    // The process is gone before anybody removes what it wrote.
    await calls.kill()
  }
}
