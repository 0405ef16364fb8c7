import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { after, afterEach } from 'node:test'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { parse } from 'yaml'
import { adminToken, sharedServer, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'
import { findChromium } from './find-chromium.ts'

/** A server with the sample, and a proxy for browsers, whose address stays the same when that of the server changes. */
export interface ConsoleWorld {
  readonly server: TestServer
  /** The browser's address, which stays the same when the server has another port after a restart. */
  readonly address: string
  /** Reads the whole sample. */
  readonly key: string
  readonly applicationId: string
  readonly collectorKey: string
}

/** The fixture of a file of browser tests. */
export interface ConsoleInBrowser {
  readonly world: ConsoleWorld
  readonly browser: Browser
  /**
   * Shared by all pages of the file, with its cache: the tests are about what pages do, not about how they are fetched.
   */
  readonly context: BrowserContext
  /** Opens a path of the console in a page of its own. */
  readonly open: (path: string, opening?: Opening) => Promise<Opened>
}

let shared: Promise<ConsoleWorld> | undefined

/**
 * All files that run in this process share one world; each file has a browser of its own, which is closed at its end.
 * With `isCalm` nothing is animated, so elements stay where they are.
 */
export async function consoleInBrowser({ draws = false, isCalm = false } = {}): Promise<ConsoleInBrowser> {
  shared ??= makeWorld()
  const launching = launchBrowser(draws)
  let kept: Page | undefined
  // A page that is left open keeps sending requests and drawing.
  afterEach(async () => {
    const pages = (await launching).contexts().flatMap((one) => one.pages())
    for (const page of pages) if (page !== kept) await page.close()
  })
  after(async () => (await launching).close())
  const [world, browser] = await Promise.all([shared, launching])
  const context = await browser.newContext(isCalm ? { reducedMotion: 'reduce' } : {})
  // An empty page keeps a renderer process with warm code for the others, which saves a fifth of the CPU. It has no
  // script.
  kept = await context.newPage()
  await kept.goto(`${world.address}/healthz`)
  const open = (path: string, opening: Opening = {}) => openPage(context, `${world.address}${path}`, opening)
  return { world, browser, context, open }
}

async function makeWorld(): Promise<ConsoleWorld> {
  const server = await sharedServer()
  const loaded = await loadSample(server)
  const door = await openDoor(server)
  await until('it is ready', async () => (await server.call('GET', '/readyz')).status === 200)
  return { server, address: door, ...loaded }
}

/** Without a graphics card WebGL is computed in software, at such a cost that only tests about drawing use it. */
const computedDrawing = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']

/** The browser keeps this process alive until it is closed. */
export function launchBrowser(draws = false): Promise<Browser> {
  const executablePath = findChromium()
  assert.ok(executablePath, 'Chromium is needed: install it, or set CHROMIUM_PATH')
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--process-per-site',
      ...(draws ? computedDrawing : ['--disable-gpu']),
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
 * Forwards connections to the server's present address. While the server is down, connections end as they do at a
 * closed port.
 */
async function openDoor(server: TestServer): Promise<string> {
  const door: Server = createServer((outside: Socket) => {
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
    door.listen(0, '127.0.0.1', resolve)
  })
  door.unref()
  const { port } = door.address() as { port: number }
  return `http://127.0.0.1:${port}`
}

/** A page, and every error that it reported. */
export interface Opened {
  readonly page: Page
  readonly faults: string[]
}

export interface Opening {
  readonly width?: number
  /** The page is signed in with this key from the start, as a reloaded tab is. */
  readonly key?: string
  /** Errors that the test causes itself and that the browser reports. */
  readonly expected?: RegExp
}

/** Longer than anything takes on the busiest machine. */
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
    // On a busy machine a server may be unready for a moment. The page asks again.
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
