/**
 * The parent's end of a graph's process. Not a worker thread: ending a thread in the middle of a run of the native
 * runtime aborts the whole server, and a graph that runs out of memory must not take the server with it. Ending the
 * process is how a run is cancelled: at once, whatever it is doing.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { GraphCost, GraphJob, NodePortion } from './compute-graph.ts'
import type { WrittenFile } from './edge-table.ts'
import type { FromGraph, ToGraph } from './graph-process.ts'

export interface GraphWork {
  readonly job: GraphJob
  readonly portions: AsyncIterable<NodePortion>
  readonly signal: AbortSignal
  readonly progress: (done: number) => void
}

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
  const exited = once(child, 'exit').catch(() => {})
  const kill = (): void => {
    child.kill('SIGKILL')
  }
  signal.addEventListener('abort', kill, { once: true })

  const finished = Promise.withResolvers<WrittenFile & GraphCost>()
  // Awaited last; a failure may come long before.
  finished.promise.catch(() => {})
  let taken: () => void = () => {}
  child.on('message', (message: FromGraph) => {
    if (message.type === 'taken') taken()
    else if (message.type === 'progress') progress(message.done)
    else if (message.type === 'done') finished.resolve(message.file)
    else finished.reject(new Error(message.message))
  })
  child.on('error', (error) => finished.reject(error))
  child.on('exit', (code, died) => {
    finished.reject(new Error(`the graph's process ended with ${died ?? `code ${code}`} before it was done`))
  })

  const post = (message: ToGraph): void => {
    child.send(message, () => {})
  }
  try {
    post({ type: 'job', job })
    for await (const portion of portions) {
      const acknowledged = new Promise<void>((resolve) => {
        taken = resolve
      })
      post({ type: 'nodes', portion })
      await Promise.race([acknowledged, finished.promise])
      signal.throwIfAborted()
    }
    post({ type: 'compute' })
    return await finished.promise
  } catch (error) {
    kill()
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', kill)
    // The process is gone before anybody removes what it wrote.
    if (child.pid !== undefined) await exited
  }
}
