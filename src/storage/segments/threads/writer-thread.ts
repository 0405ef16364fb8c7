import { Worker, workerData } from 'node:worker_threads'
import { answerCalls } from '../../../threads/answer-calls.ts'
import { sentError } from '../../../threads/frames.ts'
import { giveWay } from '../../../threads/give-way.ts'
import { lockIndex } from '../file/index-lock.ts'
import type { ThreadNotification } from '../memory/thread-messages.ts'
import { IndexWriter } from '../write/index-writer.ts'
import type { LoadOrder } from '../write/load-together.ts'
import type { MergeDone, MergeOrder, WriterCall, WriterThreadOptions } from '../write/writer-calls.ts'

/**
 * The writer's loop: calls in the order of arrival, and one step of background work whenever none waits. The reply to a
 * call is sent before the background work that it caused.
 */
const retryMs = 1000

/** Searches have priority. This is half the niceness of merges, because new documents should be found soon. */
const niceness = 5

interface Queued {
  readonly message: WriterCall | { readonly call: 'close' }
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

const options = workerData as WriterThreadOptions
const queue: Queued[] = []
let awake = false

const { path, lockedToo } = options
// The lock of the earlier version comes first: if two processes replace it, the second one then changes nothing.
const locks = (lockedToo === null ? [path] : [lockedToo, path]).map(lockIndex)
const writer = new IndexWriter({ ...options, startMerge, startHelper })
const { started, tell } = answerCalls<WriterCall>({
  answer: inTurn,
  async end() {
    await inTurn({ call: 'close' })
    for (const lock of locks) lock.close()
    // A normal exit would wait for a merge in progress.
    process.exit()
  },
})
started(writer.health())
// Not earlier: searches wait until the index is loaded.
giveWay(niceness)
wake()

function inTurn(message: Queued['message']): Promise<unknown> {
  return new Promise((resolve, reject) => {
    queue.push({ message, resolve, reject })
    wake()
  })
}

/** Each merge has its own thread: merges are rare, and an idle thread would keep the memory of the last one. */
function startMerge(order: MergeOrder): void {
  const merger = new Worker(new URL('./merge-thread.ts', import.meta.url), { workerData: order })
  let done: MergeDone = { merged: null, reason: 'the merge thread ended early' }
  merger.once('message', (message: MergeDone) => {
    done = message
  })
  merger.once('error', (error) => {
    done = { merged: null, reason: error instanceof Error ? error.message : String(error) }
  })
  merger.once('exit', () => {
    inBackground(() => writer.merged(done))
    wake()
  })
}

function startHelper(order: LoadOrder): void {
  const file = new URL('./load-thread.ts', import.meta.url)
  const helper = new Worker(file, { workerData: order, transferList: [order.port], name: 'index loader' })
  // The writer does the work that a helper does not do.
  helper.on('error', () => {})
}

function wake(): void {
  if (awake) return
  awake = true
  setImmediate(turn)
}

function turn(): void {
  awake = false
  const next = queue[0]
  // A merge reads the segments that `clear` removes: wait for it.
  if (next !== undefined && !(next.message.call === 'clear' && writer.merging)) {
    queue.shift()
    try {
      next.resolve(run(next.message))
    } catch (error) {
      next.reject(error)
    }
    wake()
  } else if (inBackground(() => writer.tidy())) wake()
}

/**
 * Background work, which no caller waits for. If it fails, a notification and health report it, searches and batches go
 * on, and it is tried again.
 */
function inBackground(work: () => unknown): unknown {
  try {
    const more = work()
    if (writer.failing !== null) void tell({ worked: true } satisfies ThreadNotification)
    writer.failing = null
    return more
  } catch (error) {
    writer.failing = `background work failed: ${error instanceof Error ? error.message : String(error)}`
    void tell({ failed: sentError(error) } satisfies ThreadNotification)
    setTimeout(wake, retryMs)
    return false
  }
}

function run(message: Queued['message']): unknown {
  switch (message.call) {
    case 'apply':
      return writer.apply(message.batch)
    case 'admit':
      return writer.admit(message.reader, message.port)
    case 'doubt':
      return writer.doubt(message.vectors)
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
