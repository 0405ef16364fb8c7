import type { Worker } from 'node:worker_threads'

/** The live threads of this process that were started after this module was loaded. */
export const startedThreads: Worker[] = []

process.on('worker', (worker) => {
  startedThreads.push(worker)
  worker.on('exit', () => startedThreads.splice(startedThreads.indexOf(worker), 1))
})

export const threadsNamed = (name: string): Worker[] => startedThreads.filter(({ threadName }) => threadName === name)
