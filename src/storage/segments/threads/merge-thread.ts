import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from '../../../threads/lower-priority.ts'
import { TermScratch } from '../format/segment-builder.ts'
import { runMerge } from '../write/run-merge.ts'
import type { MergeTask } from '../write/writer-calls.ts'

// Searches have priority, and so does the work that makes new text searchable.
lowerThreadPriority(10)

const { result, transfer } = runMerge(workerData as MergeTask, new TermScratch())
parentPort!.postMessage(result, transfer)
