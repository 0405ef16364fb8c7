import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { TermScratch } from '../format/segment-builder.ts'
import { runMerge } from '../write/run-merge.ts'
import type { MergeOrder } from '../write/writer-calls.ts'

try {
  // On Linux this is the thread alone. Searches go first.
  if (process.platform === 'linux') setPriority(0, 10)
} catch {
  // Without the right to, merges compete with searches; slower, nothing else.
}

const { done, transfer } = runMerge(workerData as MergeOrder, new TermScratch())
parentPort!.postMessage(done, transfer)
