import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { MergeOrder } from './protocol.ts'
import { runMerge } from './run-merge.ts'
import { TermScratch } from './segment-builder.ts'

try {
  // On Linux this is the thread alone. Searches go first.
  if (process.platform === 'linux') setPriority(0, 10)
} catch {
  // Without the right to, merges compete with searches; slower, nothing else.
}

const { done, transfer } = runMerge(workerData as MergeOrder, new TermScratch())
parentPort!.postMessage(done, transfer)
