import { setTimeout as delay } from 'node:timers/promises'
import { randomFrom } from '../corpus/corpus.ts'
import { searches } from './ask.ts'
import type { Client } from './client.ts'
import { quantile } from './times.ts'

/**
 * Measures the time from the answer to the collector until a search finds the document, for each number of concurrent
 * searching callers.
 */
export async function freshness(
  client: Client,
  collector: Client,
  { times = 100, searching = [0, 4] } = {},
): Promise<void> {
  let number = 0
  const once = async (): Promise<number> => {
    const word = `fresh${Date.now().toString(36)}x${++number}`
    const document = {
      dataset_id: 'd1',
      source_platform: 'p1',
      external_id: word,
      title: word,
      body: `Here is ${word}.`,
    }
    await collector.call('POST', '/collector/v1/documents', { documents: [document] })
    const at = performance.now()
    for (;;) {
      const found = await client.call('POST', '/v1/search/keyword', { query: word, limit: 1 })
      if (found.results.length > 0) return performance.now() - at
      await delay(2)
    }
  }
  for (const callers of searching) {
    let stop = false
    const ask = searches(client, 'hybrid', false, randomFrom(14))
    const load = Array.from({ length: callers }, async () => {
      while (!stop) await ask()
    })
    const tookMs: number[] = []
    for (let i = 0; i < times; i++) tookMs.push(await once())
    stop = true
    await Promise.all(load)
    tookMs.sort((a, b) => a - b)
    const shown = [0.5, 0.99].map((share) => quantile(tookMs, share).toFixed(0))
    console.log(
      `acknowledged to found, ${callers === 0 ? 'idle' : `${callers} search hybrid`}: p50 ${shown[0]}, p99 ${shown[1]} ms`,
    )
  }
}
