import { once } from 'node:events'
import { request } from 'node:http'
import type { Client } from './client.ts'
import { documentLine } from './documents.ts'

const path = '/collector/v1/documents'
const batchDocuments = 500
const chunkDocuments = 100

interface Range {
  readonly from: number
  readonly to: number
}

const linesOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => documentLine(from + i))

/** Sends documents `from` to `to` as JSON batches, with this many requests in flight. Returns documents per second. */
export async function sendBatches(collector: Client, { from, to }: Range, senders: number): Promise<number> {
  const batches: string[] = []
  for (let at = from; at < to; at += batchDocuments) {
    batches.push(`{"documents":[${linesOf(at, Math.min(to, at + batchDocuments)).join()}]}`)
  }
  const startedMs = performance.now()
  const rest = batches.values()
  const sender = async (): Promise<void> => {
    for (const batch of rest) {
      const { status, text } = await collector.send('POST', path, batch)
      if (status !== 200 || text.includes('"error"')) throw new Error(text.slice(0, 1000))
    }
  }
  await Promise.all(Array.from({ length: senders }, sender))
  return (to - from) / ((performance.now() - startedMs) / 1000)
}

/** Sends documents `from` to `to` as one stream of lines. Returns documents per second. */
export async function sendStream(collector: Client, { from, to }: Range): Promise<number> {
  const startedMs = performance.now()
  const sent = request(new URL(path, collector.address), {
    method: 'POST',
    headers: { authorization: `Bearer ${collector.credential}`, 'content-type': 'application/x-ndjson' },
  })
  const answered = once(sent, 'response').then(async ([response]) => {
    let text = ''
    for await (const part of response.setEncoding('latin1')) text += part
    return text.split('"outcome":"created"').length - 1
  })
  for (let at = from; at < to; at += chunkDocuments) {
    const text = `${linesOf(at, Math.min(to, at + chunkDocuments)).join('\n')}\n`
    if (!sent.write(text)) await Promise.race([once(sent, 'drain'), answered])
  }
  sent.end()
  const created = await answered
  if (created !== to - from) throw new Error(`${created} of ${to - from} documents were created`)
  return created / ((performance.now() - startedMs) / 1000)
}
