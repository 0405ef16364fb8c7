import { type Browser, chromium, type Page } from 'playwright-core'
import { noVectors, startServer, type TestServer } from '../test/acceptance/harness.ts'
import { findChromium } from '../test/browser/find-chromium.ts'

/**
 * What the console costs a browser that has never seen it: bytes and first paint of each view, and what stands still while
 * somebody scrolls through ten thousand documents.
 */
const rounds = 5
const documents = 10_000
const batch = 500

export async function run(): Promise<void> {
  const executablePath = findChromium()
  if (executablePath === null) throw new Error('Chromium is needed: install it, or set CHROMIUM_PATH')
  const server = await startServer({ env: noVectors })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const key = await fill(server)
    for (const path of ['/', '/search', '/documents', '/changes', '/account']) {
      const seen: Seen[] = []
      for (let round = 0; round < rounds; round++) seen.push(await firstSight(browser, server.address, path, key))
      const [{ sentKb, kb }] = seen as [Seen, ...Seen[]]
      const paint = median(seen.map(({ paintMs }) => paintMs))
      console.log(`${path}: ${kb} KB (${sentKb} KB sent), first contentful paint ${paint.toFixed(0)} ms`)
    }
    await scrollThrough(browser, server.address, key)
  } finally {
    await browser.close()
    await server.stop()
  }
}

async function fill(server: TestServer): Promise<string> {
  await server.makeDataset('long')
  const { key: collector } = await server.makeCollector()
  const policy = { requests_per_second: 10_000, burst: 10_000 }
  const { key } = await server.makeApplication({ name: 'Bench', policy, entitlements: [{ datasets: ['long'] }] })
  for (let from = 0; from < documents; from += batch) {
    const sent = Array.from({ length: batch }, (_, i) => ({
      dataset_id: 'long',
      source_platform: 'rss',
      external_id: String(from + i),
      title: `Notice to mariners no. ${from + i}`,
    }))
    await server.collector(collector, 'POST', '/collector/v1/documents', { documents: sent })
  }
  return key
}

interface Seen {
  readonly kb: number
  readonly sentKb: number
  readonly paintMs: number
}

/** In a context of its own: nothing is in its cache. */
async function firstSight(browser: Browser, address: string, path: string, key: string): Promise<Seen> {
  const page = await open(browser, address + path, path === '/' ? '' : key)
  await page.waitForLoadState('load')
  await page.locator('main h1').waitFor()
  const measured = (await page.evaluate(`new Promise((resolve) => {
    new PerformanceObserver((list) => {
      const paint = list.getEntriesByName('first-contentful-paint')[0]
      if (!paint) return
      const files = performance.getEntries().filter((one) => 'decodedBodySize' in one)
      const sum = (name) => files.reduce((total, one) => total + one[name], 0)
      resolve([sum('decodedBodySize'), sum('transferSize'), paint.startTime])
    }).observe({ type: 'paint', buffered: true })
  })`)) as [number, number, number]
  await page.context().close()
  const [decoded, sent, paintMs] = measured
  return { kb: Math.round(decoded / 1024), sentKb: Math.round(sent / 1024), paintMs }
}

async function open(browser: Browser, url: string, key: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  if (key !== '') await page.addInitScript(`sessionStorage.setItem('tidemark.key.consumer', ${JSON.stringify(key)})`)
  await page.goto(url)
  return page
}

async function scrollThrough(browser: Browser, address: string, key: string): Promise<void> {
  const page = await open(browser, `${address}/documents`, key)
  await page.locator('.document-row').first().waitFor()
  await page.evaluate(`{
    window.tasks = []
    new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: 'longtask' })
  }`)
  const summary = page.locator('.summary')
  while (!(await summary.innerText()).startsWith(`${documents.toLocaleString('en-US')} documents, `)) {
    await page.mouse.wheel(0, 5_000)
    await page.waitForTimeout(16)
  }
  const tasks = (await page.evaluate('window.tasks')) as number[]
  const rows = await page.locator('.document-row').count()
  const longest = Math.max(0, ...tasks)
  console.log(
    `${documents} documents scrolled through: ${rows} rows in the page, ${tasks.length} tasks over 50 ms, the longest ${longest.toFixed(0)} ms`,
  )
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
