/**
 * The process that runs the built-in model, started by `BuiltInEmbedder` as `built-in-process.ts DIRECTORY THREADS`.
 *
 *   in   embed   id, kind, callers,      queued; answered once by `done` or `failed`, unless cancelled before
 *                texts
 *        join    id, caller              one more waits for it: it is run in the turn of whoever comes first
 *        cancel  id                      texts that have not been run are dropped; there is no answer
 *   out  damaged message                 the model cannot be loaded; the process ends
 *        done    id, vectors             count x dimensions numbers, each vector of length 1
 *        failed  id, code, message, ...  this call failed, the process goes on
 *
 * Between two runs the loop reads its messages: a query that arrives is run next. It ends with its parent, however
 * that ends, and not by the signals that a terminal or a supervisor sends to the whole group: while the parent
 * drains, its embeddings still come.
 */
import { setImmediate } from 'node:timers/promises'
import { loadBuiltInModel } from './built-in-model.ts'
import { builtInProfile } from './built-in-profile.ts'
import type { EmbeddingErrorCode } from './embedding-error.ts'
import { EmbeddingError } from './embedding-error.ts'
import type { TextFault } from './normalise-vector.ts'
import { normaliseVector, vectorsOrFault } from './normalise-vector.ts'
import type { Job } from './run-queue.ts'
import { RunQueue } from './run-queue.ts'

export type ToModel =
  | ({ readonly type: 'embed' } & Job)
  | { readonly type: 'join'; readonly id: number; readonly caller: string }
  | { readonly type: 'cancel'; readonly id: number }

export type FromModel =
  | { readonly type: 'damaged'; readonly message: string }
  | { readonly type: 'done'; readonly id: number; readonly vectors: Float32Array }
  | {
      readonly type: 'failed'
      readonly id: number
      readonly code: EmbeddingErrorCode
      readonly message: string
      readonly textIndexes: readonly number[]
    }

interface CollectingJob extends Job {
  readonly results: (Float32Array | TextFault)[]
}

const queue = new RunQueue<CollectingJob>()
let wake: () => void = () => {}

process.on('disconnect', () => process.exit())
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
process.on('message', (message: ToModel) => {
  switch (message.type) {
    case 'embed':
      queue.add({ ...message, results: [] })
      wake()
      return
    case 'join':
      queue.join(message.id, message.caller)
      return
    case 'cancel':
      queue.remove(message.id)
  }
})

function send(message: FromModel): void {
  process.send?.(message)
}

function finish(job: CollectingJob): void {
  const vectors = vectorsOrFault(job.results)
  const joined = new Float32Array(vectors.length * builtInProfile.dimensions)
  for (const [index, vector] of vectors.entries()) joined.set(vector, index * builtInProfile.dimensions)
  send({ type: 'done', id: job.id, vectors: joined })
}

function fail(job: CollectingJob, error: unknown): void {
  queue.remove(job.id)
  const known = error instanceof EmbeddingError ? error : new EmbeddingError('unavailable', 'the model failed to run')
  send({ type: 'failed', id: job.id, code: known.code, message: known.message, textIndexes: known.textIndexes })
}

async function runQueued(directory: URL, threads: number): Promise<never> {
  const model = await loadBuiltInModel(directory, threads)
  // The files as read, 35 MB, are no longer needed; an idle process would keep them for ever.
  globalThis.gc?.()
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
      if (textIndex === job.texts.length - 1) finish(job)
    } catch (error) {
      fail(job, error)
    }
  }
}

const [directory, threads] = process.argv.slice(2)
if (directory === undefined || process.send === undefined) throw new Error('this module is started by BuiltInEmbedder')
try {
  await runQueued(new URL(directory), Number(threads))
} catch (error) {
  if (!(error instanceof EmbeddingError)) throw error
  send({ type: 'damaged', message: error.message })
  process.disconnect?.()
}
