import { once } from 'node:events'
import { request } from 'node:http'
import { documentLine } from './documents.ts'
import type { ServerProcess } from './server-process.ts'

const path = '/collector/v1/documents'
const chunkDocuments = 100

/** Sends documents `from` to `to` as JSON batches of 500, some requests at once. Gives documents a second. */
export async function sendBatches(
  server: ServerProcess,
  key: string,
  range: { from: number; to: number },
  senders: number,
): Promise<number> {
  const batches: string[] = []
  for (let from = range.from; from < range.to; from += 500) {
    const documents = Array.from({ length: Math.min(500, range.to - from) }, (_, i) => documentLine(from + i))
    batches.push(`{"documents":[${documents.join()}]}`)
  }
  let next = 0
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: senders }, async () => {
      while (next < batches.length) {
        const text = await server.call(key, 'POST', path, batches[next++]!)
        if (text.includes('"error"')) throw new Error(text.slice(0, 1000))
      }
    }),
  )
  return (range.to - range.from) / ((performance.now() - startedMs) / 1000)
}

/** Sends documents `from` to `to` as one stream of lines. Gives documents a second. */
export async function sendStream(
  server: ServerProcess,
  key: string,
  range: { from: number; to: number },
  progress: (sent: number) => void = () => {},
): Promise<number> {
  const startedMs = performance.now()
  const sent = request(new URL(path, server.address), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-ndjson' },
  })
  let answered = 0
  const done = new Promise<void>((resolve, reject) => {
    sent.on('error', reject)
    sent.on('response', (response) => {
      let tail = ''
      response.setEncoding('latin1').on('data', (text: string) => {
        const whole = tail + text
        answered += whole.split('"outcome":"created"').length - 1
        tail = whole.slice(-18)
        if (tail.endsWith('"outcome":"created"')) tail = ''
      })
      response.on('error', reject)
      response.on('end', resolve)
    })
  })
  for (let from = range.from; from < range.to; from += chunkDocuments) {
    let text = ''
    for (let i = from; i < Math.min(range.to, from + chunkDocuments); i++) text += `${documentLine(i)}\n`
    if (!sent.write(text)) await Promise.race([once(sent, 'drain'), done])
    progress(from - range.from)
  }
  sent.end()
  await done
  const count = range.to - range.from
  if (answered !== count) throw new Error(`${answered} of ${count} documents were created`)
  return count / ((performance.now() - startedMs) / 1000)
}
