import { workerData } from 'node:worker_threads'
import { type LoadTask, runLoadHelper } from '../write/parallel-loader.ts'

runLoadHelper(workerData as LoadTask)
