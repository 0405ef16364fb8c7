/** A thread that asks /healthz every few milliseconds, so that the load of the bench's own thread does not count. */
import { parentPort, workerData } from 'node:worker_threads'
import { Client } from './client.ts'

const client = new Client(workerData as string, '')
const times: number[] = []
let stop = false
parentPort!.once('message', () => {
  stop = true
})
while (!stop) {
  const at = performance.now()
  await client.send('GET', '/healthz')
  times.push(performance.now() - at)
  await new Promise((resolve) => setTimeout(resolve, 4))
}
parentPort!.postMessage(times.sort((a, b) => a - b))
client.close()
