/**
 * The process that executes one algorithm, started by `compute-in-process.ts`. Its calls, in this order:
 *
 *   job       what to execute and where to write; once
 *   portion   a portion of the input; answered when it is taken, so that the sender never gets ahead
 *   finish    all of the input is there; the answer comes when the files are complete and on disk
 *
 * An algorithm that fails answers the call under way with its error. Meanwhile it tells how much is done, from 0 to 1.
 * Its priority is lowered before anything else, so that threads it starts have it too.
 */
import { readdirSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { constants, setPriority } from 'node:os'
import type { AnalysisType } from '../../access/analysis-types.ts'
import { answerCalls } from '../../threads/answer-calls.ts'
import type { InputPortion, KeptParameters, Series } from '../algorithm.ts'
import type { WrittenFile } from './table-file.ts'

export interface ComputeJob {
  readonly type: AnalysisType
  readonly parameters: KeptParameters
  readonly rowsMax: number
  readonly dimensions: number
  readonly threads: number
  readonly series: Series | null
  /** Where each artifact is written, by its name: those of a series only where it is one. There must be no such file. */
  readonly paths: Readonly<Record<string, string>>
}

export type ComputeCall =
  | { readonly type: 'job'; readonly job: ComputeJob }
  | { readonly type: 'portion'; readonly portion: InputPortion }
  | { readonly type: 'finish' }

/** What came of a job, and what it cost its process, for the log and for whoever measures. */
export interface Computed {
  readonly files: Readonly<Record<string, WrittenFile>>
  readonly cpuSeconds: number
  readonly peakBytes: number
  /** The algorithm's own numbers. */
  readonly numbers: Readonly<Record<string, number>>
}

// On Linux a priority is a thread's own, and the runtime has started some before it came here.
for (const thread of threadsSoFar()) setPriority(thread, constants.priority.PRIORITY_LOW)

const { algorithms } = await import('../algorithms.ts')
const { TableFile } = await import('./table-file.ts')

const { readable: portions, writable } = new TransformStream<InputPortion, InputPortion>()
const writer = writable.getWriter()
let executing: Promise<Computed>

const { started, tell } = answerCalls<ComputeCall>({ answer: take })
started()

/** 0, where they cannot be known, is the process. */
function threadsSoFar(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return [0]
  }
}

async function take(call: ComputeCall): Promise<unknown> {
  switch (call.type) {
    case 'job':
      executing = execute(call.job)
      // Whichever call is under way, or comes next, hears of it.
      executing.catch(() => {})
      return
    case 'portion':
      // Where nobody reads any more, the end of the execution says why.
      await Promise.race([writer.write(call.portion).catch(() => executing), executing])
      return
    case 'finish':
      writer.close().catch(() => {})
      return executing
  }
}

async function execute({ type, parameters, threads, paths, ...given }: ComputeJob): Promise<Computed> {
  const algorithm = algorithms[type]
  const tables = Object.fromEntries(
    Object.entries(paths).map(([name, path]) => [name, new TableFile(path, algorithm.artifacts[name]!.columns)]),
  )
  const { rowsMax, dimensions, series } = given
  const input = { rowsMax, dimensions, series, portions }
  const numbers = await algorithm.execute(input, parameters, tables, { threads, progress })
  const files = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, table.finish()]))
  // What the runtime compiled is kept for the next one. It would do so at its end, but that is a kill.
  flushCompileCache()
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  return { files, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakBytes: maxRSS * 1024, numbers }
}

/** Messages are read in between: without that, the end of the parent would not be noticed. */
async function progress(done: number): Promise<void> {
  await tell(done)
  await new Promise((resolve) => setImmediate(resolve))
}
