import { spawn } from 'node:child_process'
import { mkdtempSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { findChromium } from '../test/browser/find-chromium.ts'

/**
 * console-pictures.ts [DATA_FOLDER]: starts Tidemark with its sample as `npm start` does, and writes the pictures of
 * the README to docs/images/. A folder of an earlier start is not indexed again.
 */
const [folder = mkdtempSync(join(tmpdir(), 'tidemark-pictures-'))] = process.argv.slice(2)
const images = join(import.meta.dirname, '..', 'docs', 'images')
const bytesMax = 300_000

interface Profile {
  readonly id: string
  readonly is_default: boolean
}

interface Run {
  readonly run_id: string
  readonly status: string
}

const executablePath = findChromium()
if (executablePath === null) throw new Error('Chromium is needed: install it, or set CHROMIUM_PATH')
const env = { ...process.env, TIDEMARK_DATA_DIR: folder, TIDEMARK_PORT: '0' }
const server = spawn(process.execPath, ['bin/tidemark.js', 'start'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'],
})
try {
  const { address, key } = await started()
  const account = await call<{ embedding_profiles: Profile[] }>('GET', '/v1/account')
  const scope = {
    embedding_profile_id: account.embedding_profiles.find((one) => one.is_default)!.id,
    input_scope: { dataset_ids: ['news', 'community', 'video'] },
  }
  await ended(await call('POST', '/v1/analysis/runs', { analysis_type: 'clustering', ...scope }))
  const graph = await ended(await call('POST', '/v1/analysis/runs', { analysis_type: 'knn_graph', ...scope }))

  await take('console-search.png', '/search?q=tidal+power', 'light', async (page) => {
    await page.locator('.result mark').first().waitFor()
  })
  await take('console-graph.jpg', `/analysis/runs/${graph.run_id}`, 'dark', async (page) => {
    await page.getByText('Topic', { exact: true }).click()
    await page.getByText('Layout finished').waitFor()
    await page.locator('.legend button').nth(4).waitFor()
  })

  async function take(name: string, path: string, colorScheme: 'light' | 'dark', ready: (page: Page) => Promise<void>) {
    const viewport = { width: 1280, height: 800 }
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
    const page = await context.newPage()
    page.setDefaultTimeout(120_000)
    await page.addInitScript(`sessionStorage.setItem('tidemark.key.consumer', '${key}')`)
    await page.goto(`${address}${path}`)
    await ready(page)
    const file = join(images, name)
    await page.screenshot({ path: file, ...(name.endsWith('.jpg') ? { quality: 85 } : {}) })
    await context.close()
    const { size } = statSync(file)
    console.log(`${name}: ${size} bytes`)
    if (size > bytesMax) throw new Error(`${name} is larger than ${bytesMax} bytes`)
  }

  async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await fetch(`${address}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return answer.json() as Promise<Answer>
  }

  async function ended(run: Run): Promise<Run> {
    while (['queued', 'validating', 'running'].includes(run.status)) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      run = await call('GET', `/v1/analysis/runs/${run.run_id}`)
    }
    if (run.status !== 'succeeded') throw new Error(`the run ${run.status}`)
    return run
  }
} finally {
  await browser.close()
  server.kill()
}

/** Resolves when the server has printed its address and a key. */
function started(): Promise<{ readonly address: string; readonly key: string }> {
  let printed = ''
  return new Promise((resolve, reject) => {
    server.stdout.setEncoding('utf8').on('data', (part) => {
      printed += part
      const [address, key] = [/is up at (http:\S+)/.exec(printed)?.[1], /\btmc_[a-z0-9]+/.exec(printed)?.[0]]
      if (address !== undefined && key !== undefined) resolve({ address, key })
    })
    server.on('exit', () => reject(new Error(`Tidemark did not start:\n${printed}`)))
  })
}
