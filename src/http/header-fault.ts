import type { IncomingMessage } from 'node:http'

/** Of these node takes the first and drops the others, or joins them; a proxy before us may have read another one. */
const onlyOnce: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-type',
  'content-encoding',
  'idempotency-key',
])
const lengths: ReadonlySet<number> = new Set([...onlyOnce].map((name) => name.length))

/** What is wrong with the headers of a request; null where nothing is. */
export function headerFault({ headers, httpVersion, rawHeaders }: IncomingMessage): string | null {
  if (headers.host === undefined && httpVersion === '1.1') return 'the Host header is missing'
  const { 'transfer-encoding': coding = 'chunked' } = headers
  if (coding.toLowerCase() !== 'chunked') {
    return 'the only Transfer-Encoding that can be read is chunked: compress a body with Content-Encoding'
  }
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!lengths.has(rawHeaders[i]!.length)) continue
    const name = rawHeaders[i]!.toLowerCase()
    if (!onlyOnce.has(name)) continue
    if (seen.includes(name)) return `the ${name} header is there twice: send it once`
    seen.push(name)
  }
  return null
}
