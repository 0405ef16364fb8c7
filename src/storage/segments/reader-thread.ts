import { parentPort, workerData } from 'node:worker_threads'
import { IndexReader } from './index-reader.ts'
import type { Numbered, ReaderCall, ReaderOptions, Reply, SearchReply } from './protocol.ts'
import type { Part } from './split-search.ts'

const catchUpMs = 250

const reader = new IndexReader(workerData as ReaderOptions)
const port = parentPort!

/** `deadline` counts on the shared wall clock, because each thread's `performance.now()` starts at its own zero. */
port.on('message', ({ id, message }: Numbered<ReaderCall & { deadline: number; part: Part }>) => {
  let reply: Reply
  try {
    const deadline = message.deadline - performance.timeOrigin
    const tooLate: SearchReply = { outcome: { outcome: 'timed_out' }, state: null }
    reply = { id, result: performance.now() > deadline ? tooLate : reader.answer(message, deadline, message.part) }
  } catch (error) {
    reply = { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
  port.postMessage(reply)
})

setInterval(() => reader.catchUp(), catchUpMs)
