import { Worker, workerData } from 'node:worker_threads'
import { answerCalls } from '../../../threads/answer-calls.ts'
import { sentError } from '../../../threads/frames.ts'
import { lowerThreadPriority } from '../../../threads/lower-priority.ts'
import { lockIndex } from '../file/index-lock.ts'
import type { ThreadNotification } from '../memory/thread-messages.ts'
import { IndexWriter } from '../write/index-writer.ts'
import type { LoadTask } from '../write/parallel-loader.ts'
import type { MergeResult, MergeTask, WriterCall, WriterThreadOptions } from '../write/writer-calls.ts'

/**
 * The loop of the writer: it runs calls in the order of arrival, and one step of background work whenever none waits.
 * The reply to a call is sent before the background work that the call caused.
 */

/** The wait after background work has failed. */
const retryMs = 1000

/** Searches have priority. Merges have twice this niceness, because new documents should be found soon. */
const niceness = 5

interface Queued {
  readonly message: WriterCall | { readonly call: 'close' }
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

const options = workerData as WriterThreadOptions
const queue: Queued[] = []
let isScheduled = false

const { path, lockedToo } = options
// The lock of the earlier version comes first, so that a second process that would replace it too changes nothing.
const locks = (lockedToo === null ? [path] : [lockedToo, path]).map(lockIndex)
const writer = new IndexWriter({ ...options, startMerge, startHelper })
const { started, notify } = answerCalls<WriterCall>({
  answer: enqueue,
  async end() {
    await enqueue({ call: 'close' })
    for (const lock of locks) lock.close()
    // A normal exit would wait for a merge in progress.
    process.exit()
  },
})
started(writer.health())
// Not earlier, because searches wait until the index is loaded.
lowerThreadPriority(niceness)
schedule()

function enqueue(message: Queued['message']): Promise<unknown> {
  return new Promise((resolve, reject) => {
    queue.push({ message, resolve, reject })
    schedule()
  })
}

/** Each merge has its own thread, because merges are rare and an idle thread would keep the memory of the last one. */
function startMerge(task: MergeTask): void {
  const merger = new Worker(new URL('./merge-thread.ts', import.meta.url), { workerData: task })
  let result: MergeResult = { merged: null, reason: 'the merge thread ended early' }
  merger.once('message', (message: MergeResult) => {
    result = message
  })
  merger.once('error', (error) => {
    result = { merged: null, reason: error instanceof Error ? error.message : String(error) }
  })
  merger.once('exit', () => {
    inBackground(() => writer.merged(result))
    schedule()
  })
}

function startHelper(task: LoadTask): void {
  const file = new URL('./load-thread.ts', import.meta.url)
  const helper = new Worker(file, { workerData: task, transferList: [task.port], name: 'index loader' })
  // The writer loads whatever a helper does not.
  helper.on('error', () => {})
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(runNext)
}

function runNext(): void {
  isScheduled = false
  const next = queue[0]
  // `clear` waits for a merge, which reads the segments that `clear` removes.
  if (next !== undefined && !(next.message.call === 'clear' && writer.merging)) {
    queue.shift()
    try {
      next.resolve(run(next.message))
    } catch (error) {
      next.reject(error)
    }
    schedule()
  } else if (inBackground(() => writer.backgroundStep())) schedule()
}

/**
 * Background work, which no caller waits for. If it fails, a notification and health report it, searches and batches go
 * on, and it is tried again.
 */
function inBackground(work: () => unknown): unknown {
  try {
    const more = work()
    if (writer.failing !== null) void notify({ worked: true } satisfies ThreadNotification)
    writer.failing = null
    return more
  } catch (error) {
    writer.failing = `background work failed: ${error instanceof Error ? error.message : String(error)}`
    void notify({ failed: sentError(error) } satisfies ThreadNotification)
    setTimeout(schedule, retryMs)
    return false
  }
}

function run(message: Queued['message']): unknown {
  switch (message.call) {
    case 'apply':
      return writer.apply(message.batch)
    case 'addReader':
      return writer.addReader(message.reader, message.port)
    case 'checkVectors':
      return writer.checkVectors(message.vectors)
    case 'health':
      return writer.health()
    case 'checkpoint':
      return writer.checkpoint()
    case 'clear':
      return writer.clear()
    case 'purge':
      return writer.purge()
    case 'close':
      return writer.close()
  }
}
