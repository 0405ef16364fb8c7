import { workerData } from 'node:worker_threads'
import { helpToLoad, type LoadOrder } from '../write/load-together.ts'

helpToLoad(workerData as LoadOrder)
