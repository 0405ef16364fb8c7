import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { startServer } from '../test/acceptance/harness.ts'
import { type Load, load } from './account/load.ts'

/**
 * What it costs to send an answer of about 19 KB compressed: a page of the catalog in each coding, in rounds that take
 * turns, by the processor time of the whole server. The first line of each round is the answer as it is.
 */
const rounds = 5
const roundMs = 2000
const connections = 8
const bytesWanted = 19_000
const codings = ['identity', 'zstd', 'br', 'gzip'] as const
type Coding = (typeof codings)[number]

export async function run(): Promise<void> {
  const server = await startServer({ dropLog: true })
  try {
    for (const dataset of ['news', 'community', 'video']) await server.makeDataset(dataset)
    const { key: collector } = await server.makeCollector()
    await server.call('POST', '/collector/v1/documents', {
      headers: { authorization: `Bearer ${collector}`, 'content-type': 'application/x-ndjson' },
      body: readFileSync(new URL('../sample/documents.ndjson', import.meta.url), 'utf8'),
    })
    const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news', 'community', 'video'] }] })
    const page = (limit: number): string => `/v1/documents/browse?limit=${limit}`
    const { text } = await server.consumer(key, 'GET', page(10))
    const path = page(Math.round((bytesWanted / text.length) * 10))
    const target = { address: server.address, path, key, pid: server.pid }
    const bytes = Object.fromEntries(
      await Promise.all(codings.map(async (coding) => [coding, await bytesSent(target, coding)])),
    )
    console.log(`GET ${path}, ${connections} connections, ${rounds} rounds of ${roundMs / 1000} s for each coding`)
    for (const coding of codings) await load({ ...target, accept: coding }, connections, roundMs / 2)
    const measured = new Map<Coding, Load[]>(codings.map((coding) => [coding, []]))
    for (let round = 0; round < rounds; round++) {
      for (const coding of round % 2 === 0 ? codings : codings.toReversed()) {
        measured.get(coding)!.push(await load({ ...target, accept: coding }, connections, roundMs))
      }
    }
    const cpuOf = (coding: Coding): number => median(measured.get(coding)!.map((one) => one.cpuMicroseconds))
    for (const coding of codings) {
      const perSecond = median(measured.get(coding)!.map((one) => one.perSecond))
      const more = (cpuOf(coding) - cpuOf('identity')) / 1000
      console.log(
        `${coding.padEnd(8)} ${String(bytes[coding]).padStart(6)} bytes, ${perSecond.toFixed(0).padStart(5)}/s, ` +
          `${(cpuOf(coding) / 1000).toFixed(2)} ms of CPU an answer (${more >= 0 ? '+' : ''}${more.toFixed(2)})`,
      )
    }
  } finally {
    await server.stop()
  }
}

/** Of the body as it goes over the wire. */
function bytesSent({ address, path, key }: { address: string; path: string; key: string }, coding: string) {
  return new Promise<number>((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': coding }
    const asked = request(`${address}${path}`, { headers }, (answer) => {
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      answer.on('end', () => resolve(bytes))
    })
    asked.once('error', reject)
    asked.end()
  })
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
