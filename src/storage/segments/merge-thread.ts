import { setPriority } from 'node:os'
import { workerData } from 'node:worker_threads'
import type { MergeOrder, MergerOptions } from './protocol.ts'
import { runMerge } from './run-merge.ts'
import { TermScratch } from './segment-builder.ts'

const { writer } = workerData as MergerOptions
const scratch = new TermScratch()

try {
  // On Linux this is the thread alone. Searches go first.
  if (process.platform === 'linux') setPriority(0, 10)
} catch {
  // Without the right to, merges compete with searches; slower, nothing else.
}

writer.on('message', (order: MergeOrder) => {
  const { done, transfer } = runMerge(order, scratch)
  writer.postMessage(done, transfer)
})
