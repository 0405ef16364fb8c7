import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { after, afterEach } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { parse } from 'yaml'
import { adminToken, sharedServer, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'
import { findChromium } from './find-chromium.ts'

/** A server with the sample, behind a proxy whose address stays the same when the server restarts at another port. */
export interface ConsoleWorld {
  readonly server: TestServer
  /** The address of the proxy, for browsers. */
  readonly address: string
  /** The key of an application that can read the whole sample. */
  readonly key: string
  readonly applicationId: string
  readonly collectorKey: string
}

/** The fixture of a browser test file. */
export interface ConsoleInBrowser {
  readonly world: ConsoleWorld
  readonly browser: Browser
  /**
   * Shared by all pages of the file, with its cache, because these tests are not about how pages are fetched.
   */
  readonly context: BrowserContext
  /** Opens a path of the console in a page of its own. */
  readonly open: (path: string, opening?: Opening) => Promise<Opened>
}

let shared: Promise<ConsoleWorld> | undefined

/**
 * All files that run in this process share one world. Each file has a browser of its own, which is closed at its end.
 * With `reducesMotion` nothing is animated, so elements stay where they are.
 */
export async function consoleInBrowser({ draws = false, reducesMotion = false } = {}): Promise<ConsoleInBrowser> {
  shared ??= createWorld()
  const launching = launchBrowser(draws)
  let kept: Page | undefined
  // An open page would keep sending requests and drawing.
  afterEach(async () => {
    const pages = (await launching).contexts().flatMap((one) => one.pages())
    for (const page of pages) if (page !== kept) await page.close()
  })
  after(async () => (await launching).close())
  const [world, browser] = await Promise.all([shared, launching])
  const context = await browser.newContext(reducesMotion ? { reducedMotion: 'reduce' } : {})
  // A page without scripts keeps the renderer process alive, with compiled code for the other pages.
  kept = await context.newPage()
  await kept.goto(`${world.address}/healthz`)
  const open = (path: string, opening: Opening = {}) => openPage(context, `${world.address}${path}`, opening)
  return { world, browser, context, open }
}

async function createWorld(): Promise<ConsoleWorld> {
  const server = await sharedServer()
  const loaded = await loadSample(server)
  const proxy = await startProxy(server)
  await until('the server is ready', async () => (await server.call('GET', '/readyz')).status === 200)
  return { server, address: proxy, ...loaded }
}

/** Without a graphics card, WebGL is rendered in software. This is so slow that only tests of drawing use it. */
const softwareRendering = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']

/** Launches a browser. It keeps this process alive until it is closed. */
export function launchBrowser(draws = false): Promise<Browser> {
  const executablePath = findChromium()
  assert.ok(executablePath, 'Chromium is needed: install it, or set CHROMIUM_PATH')
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--process-per-site',
      ...(draws ? softwareRendering : ['--disable-gpu']),
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-sync',
    ],
  })
}

const sample = (file: string): string => readFileSync(new URL(`../../sample/${file}`, import.meta.url), 'utf8')

async function loadSample(server: TestServer): Promise<Pick<ConsoleWorld, 'key' | 'applicationId' | 'collectorKey'>> {
  const { datasets, classifications, applications } = parse(sample('instance.yaml'))
  for (const { dataset_id, ...dataset } of datasets) {
    await server.mustAdmin('PUT', `/admin/v1/datasets/${dataset_id}`, dataset)
  }
  for (const { dataset_id, code, ...classification } of classifications) {
    await server.mustAdmin('PUT', `/admin/v1/datasets/${dataset_id}/classifications/${code}`, classification)
  }
  const collector = await server.makeCollector()
  for (const file of ['documents.ndjson', 'updates.ndjson']) {
    const answer = await server.call('POST', '/collector/v1/documents', {
      headers: { authorization: `Bearer ${collector.key}`, 'content-type': 'application/x-ndjson' },
      body: sample(file),
    })
    assert.equal(answer.status, 200, answer.text)
  }
  const [{ name, policy, entitlements }] = applications
  const { key, applicationId } = await server.makeApplication({ name, policy: { ...policy, ...rates }, entitlements })
  await until('the sample is searchable', async () => {
    const { body } = await server.admin('GET', '/admin/v1/indexing')
    return body.pending_chunks === 0 && body.indexed_chunks > 300
  })
  return { key, applicationId, collectorKey: collector.key }
}

const rates = { requests_per_second: 10_000, burst: 10_000 }

/**
 * Starts a proxy to the server's current address and returns the proxy's address. While the server is down, connections
 * end as they do at a closed port.
 */
async function startProxy(server: TestServer): Promise<string> {
  const proxy: Server = createServer((outside: Socket) => {
    const { hostname, port } = new URL(server.address)
    const inside = connect(Number(port), hostname)
    const end = (): void => {
      outside.destroy()
      inside.destroy()
    }
    for (const socket of [outside, inside]) socket.on('error', end).on('close', end)
    outside.pipe(inside).pipe(outside)
  })
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve)
  })
  proxy.unref()
  const { port } = proxy.address() as { port: number }
  return `http://127.0.0.1:${port}`
}

/** A page, and the errors that it has reported. */
export interface Opened {
  readonly page: Page
  readonly faults: string[]
}

export interface Opening {
  readonly width?: number
  /** The page is signed in with this key, as a reloaded tab is. */
  readonly key?: string
  /** Errors that the test causes on purpose. */
  readonly expected?: RegExp
}

/** Longer than anything takes on a busy machine. */
const patienceMs = 150_000

export async function openPage(
  context: BrowserContext,
  url: string,
  { width = 1280, key, expected = /^$/ }: Opening = {},
): Promise<Opened> {
  const page = await context.newPage()
  page.setDefaultTimeout(patienceMs)
  await page.setViewportSize({ width, height: 900 })
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    // On a busy machine a server may be unready for a moment. The page polls it again.
    const isReadiness = message.location().url.endsWith('/readyz')
    if (message.type() === 'error' && !isReadiness && !expected.test(message.text())) faults.push(message.text())
  })
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) faults.push(`a request to ${request.url()}`)
  })
  if (key !== undefined) {
    const scheme = key === adminToken ? 'admin' : 'consumer'
    await page.addInitScript(`sessionStorage.setItem('tidemark.key.${scheme}', ${JSON.stringify(key)})`)
  }
  await page.goto(url)
  return { page, faults }
}
