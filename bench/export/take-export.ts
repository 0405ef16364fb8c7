import { once } from 'node:events'
import { request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

/** A thread that takes every byte of an export and looks at the last line alone. */
export interface TakeExport {
  readonly address: string
  readonly key: string
}

export interface TakenExport {
  readonly seconds: number
  /** The last line. */
  readonly end: { readonly type: string; readonly documents: number }
}

const { address, key } = workerData as TakeExport
const startedMs = performance.now()
const sent = request(new URL('/v1/export', address), { headers: { authorization: `Bearer ${key}` } }).end()
const [response] = await once(sent, 'response')
let tail: Buffer = Buffer.alloc(0)
for await (const piece of response) {
  const bytes = piece as Buffer
  tail = bytes.length >= 1000 ? bytes : Buffer.concat([tail.subarray(-1000), bytes])
}
const seconds = (performance.now() - startedMs) / 1000
const end = JSON.parse(tail.toString('latin1').trimEnd().split('\n').at(-1)!)
parentPort!.postMessage({ seconds, end } satisfies TakenExport)
