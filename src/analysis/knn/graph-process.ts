/**
 * The process that computes one graph, started by `graph-child.ts`. Its calls, in this order:
 *
 *   job       what to compute and where to write; once
 *   nodes     a portion of the nodes; answered when it is taken, so that the sender never gets ahead
 *   compute   all nodes are there; the answer is rows, bytes, sha256: the file is complete and on disk
 *
 * Meanwhile it tells how much is done, from 0 to 1. Its priority is lowered before anything else, so that threads it
 * starts have it too.
 */
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { answerCalls } from '../../threads/answer-calls.ts'
import type { GraphJob, NodePortion } from './compute-graph.ts'

export type GraphCall =
  | { readonly type: 'job'; readonly job: GraphJob }
  | { readonly type: 'nodes'; readonly portion: NodePortion }
  | { readonly type: 'compute' }

// On Linux a priority is a thread's own, and the runtime has started some before it came here.
for (const thread of threadsSoFar()) setPriority(thread, constants.priority.PRIORITY_LOW)

const { GraphComputation } = await import('./compute-graph.ts')
let computation: InstanceType<typeof GraphComputation> | null = null

const { started, tell } = answerCalls<GraphCall>({ answer: take })
started()

/** 0, where they cannot be known, is the process. */
function threadsSoFar(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return [0]
  }
}

/** Between two blocks messages are read: without that, the end of the parent would not be noticed. */
async function report(done: number): Promise<void> {
  await tell(done)
  await new Promise((resolve) => setImmediate(resolve))
}

function take(call: GraphCall): unknown {
  switch (call.type) {
    case 'job':
      computation = new GraphComputation(call.job)
      return undefined
    case 'nodes':
      return computation!.add(call.portion)
    case 'compute':
      return computation!.write(report)
  }
}
