import { parentPort, workerData } from 'node:worker_threads'
import { giveWay } from '../../../threads/give-way.ts'
import { TermScratch } from '../format/segment-builder.ts'
import { runMerge } from '../write/run-merge.ts'
import type { MergeOrder } from '../write/writer-calls.ts'

// Searches have priority, and so does the work that makes new text searchable.
giveWay(10)

const { done, transfer } = runMerge(workerData as MergeOrder, new TermScratch())
parentPort!.postMessage(done, transfer)
