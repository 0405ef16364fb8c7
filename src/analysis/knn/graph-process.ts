/**
 * The process that computes one graph, started by `graph-child.ts`.
 *
 *   in   job       what to compute and where to write; once, first
 *        nodes     a portion of the nodes; answered by `taken`, so that the sender never gets ahead
 *        compute   all nodes are there
 *   out  taken
 *        progress  done, from 0 to 1
 *        done      rows, bytes, sha256: the file is complete and on disk; the process ends
 *        failed    message; the process ends
 *
 * It ends with its parent. Its priority is lowered before anything else, so that threads it starts have it too.
 */
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import type { GraphCost, GraphJob, NodePortion } from './compute-graph.ts'
import type { WrittenFile } from './edge-table.ts'

export type ToGraph =
  | { readonly type: 'job'; readonly job: GraphJob }
  | { readonly type: 'nodes'; readonly portion: NodePortion }
  | { readonly type: 'compute' }

export type FromGraph =
  | { readonly type: 'taken' }
  | { readonly type: 'progress'; readonly done: number }
  | { readonly type: 'done'; readonly file: WrittenFile & GraphCost }
  | { readonly type: 'failed'; readonly message: string }

// On Linux a priority is a thread's own, and the runtime has started some before it came here.
for (const thread of threadsSoFar()) setPriority(thread, constants.priority.PRIORITY_LOW)
process.on('disconnect', () => process.exit())
// What a terminal or supervisor sends to the whole group is for the parent to act on.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})

const { GraphComputation } = await import('./compute-graph.ts')
let computation: InstanceType<typeof GraphComputation> | null = null

/** 0, where they cannot be known, is the process. */
function threadsSoFar(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return [0]
  }
}

function send(message: FromGraph): Promise<void> {
  return new Promise((resolve) => process.send!(message, undefined, {}, () => resolve()))
}

/** Between two blocks messages are read: without that, the end of the parent would not be noticed. */
async function report(done: number): Promise<void> {
  await send({ type: 'progress', done })
  await new Promise((resolve) => setImmediate(resolve))
}

async function take(message: ToGraph): Promise<void> {
  switch (message.type) {
    case 'job':
      computation = new GraphComputation(message.job)
      return
    case 'nodes':
      computation!.add(message.portion)
      return send({ type: 'taken' })
    case 'compute':
      await send({ type: 'done', file: await computation!.write(report) })
      process.exit(0)
  }
}

process.on('message', (message: ToGraph) => {
  take(message).catch(async (error: unknown) => {
    await send({ type: 'failed', message: error instanceof Error ? error.message : String(error) })
    process.exit(1)
  })
})
