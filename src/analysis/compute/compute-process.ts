/**
 * The process that executes one algorithm, started by `compute-in-process.ts`. Its calls, in this order:
 *
 *   job       what to execute and where to write; once
 *   portion   a portion of the input; answered when it has been taken, so that the sender never gets ahead
 *   finish    the input is complete; answered when the files are complete and on disk
 *
 * An algorithm that fails answers the open call with its error. Notifications say how much is done, from 0 to 1.
 * The process lowers its priority before anything else, so that threads it starts inherit it.
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
  /** The path of each artifact to write, by name. The files must not exist. */
  readonly paths: Readonly<Record<string, string>>
}

export type ComputeCall =
  | { readonly type: 'job'; readonly job: ComputeJob }
  | { readonly type: 'portion'; readonly portion: InputPortion }
  | { readonly type: 'finish' }

/** The result of a job and its cost, for the log and for benchmarks. */
export interface Computed {
  readonly files: Readonly<Record<string, WrittenFile>>
  readonly cpuSeconds: number
  readonly peakBytes: number
  /** The algorithm's own numbers. */
  readonly numbers: Readonly<Record<string, number>>
}

// On Linux a priority belongs to a thread, and Node has already started some.
for (const thread of threadsSoFar()) setPriority(thread, constants.priority.PRIORITY_LOW)

const { algorithms } = await import('../algorithms.ts')
const { TableFile } = await import('./table-file.ts')

const { readable: portions, writable } = new TransformStream<InputPortion, InputPortion>()
const writer = writable.getWriter()
let executing: Promise<Computed>

const { started, notify } = answerCalls<ComputeCall>({ answer: take })
started()

/** Returns the ids of the running threads, or 0, which stands for the process, if they cannot be listed. */
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
      // The open call, or the next one, reports the error.
      executing.catch(() => {})
      return
    case 'portion':
      // If the input is no longer read, the end of the execution says why.
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
  // Saves compiled code for the next process. Node would do so on exit, but this process is killed.
  flushCompileCache()
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  return { files, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakBytes: maxRSS * 1024, numbers }
}

/** Reports progress, then lets messages be read, so that the end of the parent is noticed. */
async function progress(done: number): Promise<void> {
  await notify(done)
  await new Promise((resolve) => setImmediate(resolve))
}
