/**
 * The process that runs the built-in model, started by `BuiltInEmbedder` as `built-in-process.ts DIRECTORY THREADS`. Its
 * calls are
 *
 *   embed   id, kind, callers, texts    queued; the answer is count x dimensions numbers, each vector of length 1
 *   join    id, caller                  one more waits for it: it is run in the turn of whoever comes first
 *
 * Of a call that is cancelled the texts that have not been run are dropped. Between two runs the loop reads its
 * messages: a query that arrives is run next. While the parent drains, its embeddings still come. Each run is told, so
 * that a call of many texts is not taken for one that hangs.
 */
import { setImmediate } from 'node:timers/promises'
import { answerCalls } from '../threads/answer-calls.ts'
import { loadBuiltInModel } from './built-in-model.ts'
import { builtInProfile } from './built-in-profile.ts'
import { EmbeddingError } from './embedding-error.ts'
import type { TextFault } from './normalise-vector.ts'
import { normaliseVector, vectorsOrFault } from './normalise-vector.ts'
import type { Job } from './run-queue.ts'
import { RunQueue } from './run-queue.ts'

export type ModelCall =
  | ({ readonly type: 'embed' } & Job)
  | { readonly type: 'join'; readonly id: number; readonly caller: string }

interface CollectingJob extends Job {
  readonly results: (Float32Array | TextFault)[]
  readonly resolve: (joined: Float32Array) => void
  readonly reject: (error: unknown) => void
}

const queue = new RunQueue<CollectingJob>()
const jobOfCall = new Map<number, number>()
let wake: () => void = () => {}

const { started, failed, tell } = answerCalls<ModelCall>({
  answer(message, call) {
    if (message.type === 'join') return queue.join(message.id, message.caller)
    jobOfCall.set(call, message.id)
    const { promise, resolve, reject } = Promise.withResolvers<Float32Array>()
    queue.add({ ...message, results: [], resolve, reject })
    wake()
    return promise.finally(() => jobOfCall.delete(call))
  },
  cancel(call) {
    queue.remove(jobOfCall.get(call)!)
    jobOfCall.delete(call)
  },
})

function joined(results: CollectingJob['results']): Float32Array {
  const vectors = vectorsOrFault(results)
  const all = new Float32Array(vectors.length * builtInProfile.dimensions)
  for (const [index, vector] of vectors.entries()) all.set(vector, index * builtInProfile.dimensions)
  return all
}

async function runQueued(directory: URL, threads: number): Promise<never> {
  const model = await loadBuiltInModel(directory, threads)
  // The files as read, 35 MB, are no longer needed; an idle process would keep them for ever.
  globalThis.gc?.()
  started()
  for (;;) {
    // The runtime holds the thread while it runs: what came meanwhile is read before the next is chosen.
    await setImmediate()
    const run = queue.next()
    if (run === null) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
      continue
    }
    const { job, textIndex } = run
    try {
      const vector = await model.embed(job.texts[textIndex]!, job.kind)
      job.results[textIndex] = normaliseVector(vector, builtInProfile.dimensions)
      void tell('ran')
      if (textIndex === job.texts.length - 1) job.resolve(joined(job.results))
    } catch (error) {
      queue.remove(job.id)
      job.reject(error)
    }
  }
}

const [directory, threads] = process.argv.slice(2)
if (directory === undefined) throw new Error('this module is started by BuiltInEmbedder')
try {
  await runQueued(new URL(directory), Number(threads))
} catch (error) {
  if (!(error instanceof EmbeddingError)) throw error
  failed(error)
}
