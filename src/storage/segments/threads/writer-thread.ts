import { Worker, workerData } from 'node:worker_threads'
import { answerCalls } from '../../../threads/answer-calls.ts'
import { sentError } from '../../../threads/frames.ts'
import { giveWay } from '../../../threads/give-way.ts'
import { lockIndex } from '../file/index-lock.ts'
import type { ThreadNews } from '../memory/thread-news.ts'
import { IndexWriter } from '../write/index-writer.ts'
import type { LoadOrder } from '../write/load-together.ts'
import type { MergeDone, MergeOrder, WriterCall, WriterOptions } from '../write/writer-calls.ts'

/**
 * The writer's loop: calls in the order in which they came, and one step of background work whenever none waits. A
 * call's reply goes out before the work that it caused.
 */
const retryMs = 1000

/** Searches go first. Half of what the merges have: a document is to be found soon. */
const niceness = 5

interface Queued {
  readonly message: WriterCall | { readonly call: 'close' }
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

const options = workerData as Omit<WriterOptions, 'startMerge' | 'startHelper'>
const queue: Queued[] = []
let awake = false

const lock = lockIndex(options.path)
const writer = new IndexWriter({ ...options, startMerge, startHelper })
const { started, tell } = answerCalls<WriterCall>({
  answer: inTurn,
  async end() {
    await inTurn({ call: 'close' })
    lock.close()
    // A merge that is under way would be waited for.
    process.exit()
  },
})
started(writer.health())
// Not before: searches wait until the index is loaded.
giveWay(niceness)
wake()

function inTurn(message: Queued['message']): Promise<unknown> {
  return new Promise((resolve, reject) => {
    queue.push({ message, resolve, reject })
    wake()
  })
}

/** Each merge has a thread of its own: merges are rare, and an idle thread would keep what the last one took. */
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
  // What it does not do is done without it.
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
  // A merge reads the segments that `clear` takes away: wait for it.
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

/** Work that nobody waits for: when it fails, news and health tell, searches and batches go on, and it is tried again. */
function inBackground(work: () => unknown): unknown {
  try {
    const more = work()
    if (writer.failing !== null) void tell({ worked: true } satisfies ThreadNews)
    writer.failing = null
    return more
  } catch (error) {
    writer.failing = `background work failed: ${error instanceof Error ? error.message : String(error)}`
    void tell({ failed: sentError(error) } satisfies ThreadNews)
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
