import { HttpMeasures } from '../src/http/http-measures.ts'
import { Metrics } from '../src/http/metrics.ts'
import type { AskedIndex } from '../src/search/search-index.ts'
import { SearchMeasures } from '../src/search/search-measures.ts'
import type { SearchTexts } from '../src/search/search-texts.ts'
import { SearchTime } from '../src/search/search-time.ts'
import { documentOf, send } from '../test/acceptance/content.ts'
import { startServer } from '../test/acceptance/harness.ts'
import { until } from '../test/support/until.ts'
import { cpuSeconds, load } from './account/load.ts'

/**
 * What recording costs of a search (aim: less than 2 %), and what a scrape costs of an idle and of a busy server. The first
 * is all that is recorded of a search, beside the same calls without it, against the CPU time of the server for the
 * smallest search over HTTP: by one word, in ten documents. `npm run bench -- metrics [SECONDS]`
 */
const recordings = 50_000
const scrapes = 50

export async function run([seconds = '3']: readonly string[]): Promise<void> {
  const recorded = await recordingMicroseconds()
  const server = await startServer({ dropLog: true })
  try {
    await server.makeDataset('news')
    const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const collector = await server.makeCollector()
    await send(
      server,
      collector.key,
      Array.from({ length: 10 }, (_, i) => documentOf(`d${i}`, { title: `Tide ${i}`, body: 'High water at noon.' })),
    )
    await until(
      'all are indexed',
      async () => (await server.mustAdmin('GET', '/admin/v1/indexing')).pending_chunks === 0,
    )
    const scrape = async (): Promise<void> => {
      const before = cpuSeconds(server.pid)
      let bytes = 0
      for (let i = 0; i < scrapes; i++) bytes = (await server.admin('GET', '/metrics')).text.length
      const ms = ((cpuSeconds(server.pid) - before) / scrapes) * 1000
      console.log(`a scrape: ${bytes} bytes, ${ms.toFixed(2)} ms of CPU, over ${scrapes}`)
    }
    await scrape()
    const target = { address: server.address, path: '/v1/search/keyword', key, pid: server.pid }
    const search = { ...target, body: JSON.stringify({ query: 'tide', limit: 1 }) }
    await load(search, 4, 1000)
    const { perSecond, cpuMicroseconds } = await load(search, 4, Number(seconds) * 1000)
    console.log(
      `the smallest search: ${cpuMicroseconds.toFixed(0)} us of CPU, ${perSecond.toFixed(0)}/s at four connections`,
    )
    console.log(
      `recording it: ${recorded.toFixed(1)} us, ${((recorded / cpuMicroseconds) * 100).toFixed(2)} % (aim: 2)`,
    )
    const waits: number[] = []
    const whileBusy = async (): Promise<void> => {
      for (let i = 0; i < 10; i++) {
        const began = performance.now()
        await server.admin('GET', '/metrics')
        waits.push(performance.now() - began)
      }
    }
    await Promise.all([load(search, 4, 3000), whileBusy()])
    console.log(`ten scrapes while it searches: ${waits.map((ms) => ms.toFixed(0)).join(', ')} ms`)
  } finally {
    await server.stop()
  }
}

/** What a search by words asks for, with what is recorded of it and without. */
async function recordingMicroseconds(): Promise<number> {
  const metrics = new Metrics()
  const [http, searches] = [new HttpMeasures(metrics), new SearchMeasures(metrics)]
  const index = { keyword: async () => null } as unknown as AskedIndex
  const texts = { present: async () => null } as unknown as SearchTexts
  const asked = [] as unknown as Parameters<AskedIndex['keyword']>
  const shown = [] as unknown as Parameters<SearchTexts['present']>
  const turn = async () => {}
  const bare = async (): Promise<void> => {
    await turn()
    await index.keyword(...asked)
    await texts.present(...shown)
  }
  const measured = async (): Promise<void> => {
    const time = new SearchTime()
    const timed = { index: time.index(index), texts: time.texts(texts) }
    await time.spend('queue', turn)
    await timed.index.keyword(...asked)
    await timed.texts.present(...shown)
    searches.searched('keyword', time)
    http.request('search.keyword', 200, 0.002)
  }
  const microseconds = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage()
    for (let i = 0; i < recordings; i++) await work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / recordings
  }
  for (const work of [bare, measured]) await microseconds(work)
  return (await microseconds(measured)) - (await microseconds(bare))
}
