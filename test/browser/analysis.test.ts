import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../support/until.ts'
import { consoleInBrowser, type Opening, openPage } from './console-world.ts'
import { seriousFindings, seriousInBothThemes } from './serious-findings.ts'

/** Analysis in a real browser, on the sample: runs from their start to their results, as graphs, lists and tables. */
const { world, browser, open: openAs } = await consoleInBrowser({ draws: true, reducesMotion: true })
const open = (path: string, opening: Opening = {}) => openAs(path, { key: world.key, ...opening })

const profile = (await world.server.consumer(world.key, 'GET', '/v1/account')).body.embedding_profiles[0].id

interface RunOptions {
  readonly key?: string
  readonly datasets?: readonly string[]
  readonly parameters?: object
}

/** Creates a run over the API and waits until it has ended. */
async function runOf(type: string, { key = world.key, datasets = ['news'], parameters = {} }: RunOptions = {}) {
  const vectors = type === 'feature_rollup' ? {} : { embedding_profile_id: profile }
  const created = await world.server.consumer(key, 'POST', '/v1/analysis/runs', {
    analysis_type: type,
    input_scope: { dataset_ids: datasets },
    parameters,
    ...vectors,
  })
  assert.equal(created.status, 202, created.text)
  const path = `/v1/analysis/runs/${created.body.run_id}`
  let run = created.body
  await until('the run has ended', async () => {
    run = (await world.server.consumer(key, 'GET', path)).body
    return !['queued', 'validating', 'running'].includes(run.status)
  })
  return { run, page: `/analysis/runs/${run.run_id}` }
}

/** Returns how many visible pixels differ from the background. */
async function drawnPixels(page: Page): Promise<number> {
  const picture = await page.locator('.graph-canvas').screenshot()
  return (await page.evaluate(`new Promise((resolve) => {
    const image = new Image()
    image.addEventListener('load', () => {
      const canvas = new OffscreenCanvas(image.width, image.height)
      const context = canvas.getContext('2d')
      context.drawImage(image, 0, 0)
      const { data } = context.getImageData(0, 0, image.width, image.height)
      let drawn = 0
      for (let i = 0; i < data.length; i += 4) {
        if (data[i] !== data[0] || data[i + 1] !== data[1] || data[i + 2] !== data[2]) drawn += 1
      }
      resolve(drawn)
    })
    image.src = 'data:image/png;base64,${picture.toString('base64')}'
  })`)) as number
}

async function pointAtMiddle(page: Page): Promise<{ x: number; y: number }> {
  const box = (await page.locator('.graph-canvas').boundingBox())!
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  // The pointer comes from beside the node, so that it enters the node wherever it was before.
  await page.mouse.move(middle.x + 60, middle.y + 60)
  await page.mouse.move(middle.x, middle.y)
  return middle
}

const settled = (page: Page) => page.getByText('Layout finished').waitFor()

test('a graph is started, followed, drawn, hovered, clicked, searched and downloaded', async () => {
  const { page, faults } = await open('/analysis')
  await page.getByLabel('Platforms').fill('rss, forum')
  await page.getByText('Parameters', { exact: true }).click()
  await page.getByLabel('K', { exact: true }).fill('500')
  await page.getByText('The maximum number of neighbours per chunk.').waitFor()
  assert.equal(await page.evaluate('document.querySelector(".analysis-form").checkValidity()'), false)
  await page.getByLabel('K', { exact: true }).fill('8')
  await page.getByRole('button', { name: 'Start' }).click()
  await page.waitForURL('**/analysis/runs/run_*')
  await page.getByText(/^\d+ parts of \d+ documents\. All have vectors\.$/).waitFor()
  await settled(page)
  assert.ok((await drawnPixels(page)) > 2_000, 'something is drawn')

  await page.getByLabel('Search in the graph').fill('tidal power array')
  await page.keyboard.press('Enter')
  const chosen = page.locator('.graph-chosen h3')
  await chosen.waitFor()
  const title = await chosen.innerText()
  assert.match(await page.locator('.graph-chosen a').innerText(), /Open document/)
  const address = await page.locator('.graph-chosen a').getAttribute('href')
  assert.match(address!, /^\/documents\/doc_/)
  // The chosen node is in the middle.
  const middle = await pointAtMiddle(page)
  await page.locator('.graph-tip', { hasText: title }).waitFor()
  await page.getByRole('button', { name: 'Clear selection' }).click()
  await chosen.waitFor({ state: 'detached' })
  await pointAtMiddle(page)
  await page.mouse.click(middle.x, middle.y)
  await chosen.filter({ hasText: title }).waitFor()

  // The keyboard selects a neighbour.
  await page.getByRole('button', { name: 'Clear selection' }).focus()
  await page.keyboard.press('Tab')
  const next = String(await page.evaluate('document.activeElement.querySelector(".node-title").textContent'))
  await page.keyboard.press('Enter')
  await chosen.filter({ hasText: next }).waitFor()

  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download edges' }).click()
  const file = await readFile(await (await downloading).path())
  assert.equal(file.subarray(0, 4).toString(), 'PAR1')
  assert.deepEqual(faults, [])
})

test('topics are listed with their words, and colour the graph of the same texts', async () => {
  const graph = await runOf('knn_graph')
  const { page, faults } = await open(graph.page)
  await settled(page)
  await page.locator('.legend', { hasText: 'rss' }).waitFor()
  await page.getByText('Topic', { exact: true }).click()
  await page.getByRole('button', { name: 'Find topics' }).click()
  await page.locator('.legend button').nth(2).waitFor()
  const words = await page.locator('.legend bdi').first().innerText()
  assert.match(words, /^[^,]+, /)
  const before = await drawnPixels(page)
  await page.locator('.legend button').first().click()
  await until('the other topics are dimmed', async () => (await drawnPixels(page)) !== before)

  await page.getByRole('link', { name: 'Analysis', exact: true }).first().click()
  await page
    .getByRole('link', { name: /^Topics Done/ })
    .first()
    .click()
  await page.getByRole('heading', { name: /^\d+ topics$/ }).waitFor()
  await page.locator('.topics li a').first().waitFor()
  const listed = await page.locator('.topic-words').allInnerTexts()
  assert.ok(listed.some((text) => text.startsWith(words.split(',')[0]!)))
  assert.deepEqual(await seriousInBothThemes(page, ['main']), [])
  assert.deepEqual(faults, [])
})

test('copies are groups with the earliest text first; counts are a table', async () => {
  const [copies, counts] = await Promise.all([
    runOf('deduplication', { datasets: ['news', 'community'], parameters: { threshold: 0.6 } }),
    runOf('feature_rollup', { parameters: { by: ['platform', 'language'], bucket: 'month' } }),
  ])
  const { page, faults } = await open(copies.page)
  await page.getByRole('heading', { name: /^\d+ groups? of copies$/ }).waitFor()
  const group = page.locator('.copies > li').first()
  await group.locator('a').first().waitFor()
  const lines = await group.locator('li').allInnerTexts()
  assert.ok(lines.length >= 2)
  assert.match(lines[0]!, /earliest/)
  for (const line of lines.slice(1)) assert.match(line, /identical text|% similar/)
  assert.deepEqual(await seriousInBothThemes(page, ['main']), [])
  await page.goto(`${world.address}${counts.page}`)
  await page.getByRole('columnheader', { name: 'documents' }).waitFor()
  assert.deepEqual(await seriousInBothThemes(page, ['main']), [])
  const cells = await page.locator('.counts tbody tr').first().locator('td').allInnerTexts()
  assert.ok(cells.includes('rss') && cells.includes('2026-11-01'), cells.join(' '))
  assert.deepEqual(faults, [])
})

test('errors are shown: a failed run, an unknown run, analysis that is turned off', async () => {
  const { key } = await world.server.makeApplication({
    name: 'Small analyst',
    policy: { analysis_enabled: true, analysis: { types: ['knn_graph'], max_input_chunks: 2 } },
    entitlements: [{ datasets: ['news'] }],
  })
  const { run, page: path } = await runOf('knn_graph', { key })
  assert.equal(run.status, 'failed')
  const { page, faults } = await open('/analysis', { key, expected: /status of 404/ })
  await page.getByText('Not available to this application.').first().waitFor()
  assert.ok(await page.getByLabel(/^Topics/).isDisabled())
  await page.locator('.run-error', { hasText: run.error.message }).waitFor()
  await page.goto(`${world.address}${path}`)
  await page.getByRole('alert').filter({ hasText: run.error.message }).waitFor()
  await page.goto(`${world.address}/analysis/runs/run_that_never_was`)
  await page.getByRole('alert').filter({ hasText: 'no such run' }).waitFor()
  assert.deepEqual(faults, [])

  const none = await world.server.makeApplication({ name: 'Reader', entitlements: [{ datasets: ['news'] }] })
  const { page: other } = await open('/analysis', { key: none.key })
  await other.getByText('Analysis is turned off for this application.').waitFor()
  assert.equal(await other.locator('form').count(), 0)
})

const harm = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'
const mayAnalyse = { analysis_enabled: true, analysis: { types: ['knn_graph', 'clustering'] } }

test('titles are never markup; a document that may no longer be read has no title and no link', async () => {
  const { server } = world
  await server.makeDataset('harmful')
  const reader = await server.makeApplication({ policy: mayAnalyse, entitlements: [{ datasets: ['harmful'] }] })
  const documents = [1, 2, 3].map((number) => ({
    dataset_id: 'harmful',
    source_platform: '"><img/src=x/onerror=alert(1)>',
    external_id: String(number),
    title: `${harm} number ${number}`,
    body: `A gale came over the island in the night, and again on day ${number}. ${harm}`,
  }))
  const sent = await server.collector(world.collectorKey, 'POST', '/collector/v1/documents', { documents })
  assert.ok(
    sent.body.results.every(({ outcome }: { outcome: string }) => outcome === 'created'),
    sent.text,
  )
  await until('the documents have vectors', async () => {
    const { body } = await server.consumer(reader.key, 'POST', '/v1/search', { query: 'gale', mode: 'vector' })
    return body.results?.length === 3
  })
  const { page: path, run } = await runOf('knn_graph', { key: reader.key, datasets: ['harmful'] })
  assert.equal(run.input.chunks, 3)
  const { page, faults } = await open(path, { key: reader.key })
  await settled(page)
  await page.locator('.legend', { hasText: '"><img/src=x' }).waitFor()
  await page.getByRole('button', { name: `${harm} number 2` }).click()
  await page.locator('.graph-chosen', { hasText: 'A gale came' }).waitFor()
  await pointAtMiddle(page)
  await page.locator('.graph-tip', { hasText: harm }).waitFor()
  assert.equal(await page.locator('main img, main script').count(), 0)
  assert.equal(await page.evaluate('window.harmed'), undefined)

  await server.mustAdmin('PUT', `/admin/v1/applications/${reader.applicationId}/entitlements`, {
    entitlements: [{ datasets: ['video'] }],
  })
  await page.reload()
  await settled(page)
  await page.locator('.graph-list button').first().click()
  await page.locator('.graph-chosen h3', { hasText: 'A document you can no longer read' }).waitFor()
  assert.equal(await page.locator('.graph-chosen a').count(), 0)
  assert.deepEqual(faults, [])
})

test('a browser without WebGL shows the list, and why there is no graph', async () => {
  const { page: path } = await runOf('knn_graph', { datasets: ['video'], parameters: { k: 3 } })
  const plain = await browser.newContext()
  await plain.addInitScript(`{
    const { getContext } = HTMLCanvasElement.prototype
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
      return /webgl/.test(kind) ? null : getContext.call(this, kind, ...rest)
    }
  }`)
  const { page, faults } = await openPage(plain, `${world.address}${path}`, { key: world.key })
  await page.getByText('The graph needs WebGL 2, which this browser does not support').waitFor()
  await page.locator('.graph-list button').first().click()
  await page.getByRole('heading', { name: 'Nearest' }).waitFor()
  assert.equal(await page.locator('canvas').count(), 0)
  assert.deepEqual(faults, [])
})

test('a subscription is created with the same form, lists its runs, and is paused and resumed', async () => {
  const { key } = await world.server.makeApplication({
    policy: { analysis_enabled: true, analysis: { types: ['feature_rollup'], scheduling: true } },
    entitlements: [{ datasets: ['news'] }],
  })
  const { page, faults } = await open('/analysis', { key, expected: /status of 400/ })
  // The button is visible without scrolling, and errors appear at their fields.
  const [start, counted] = [page.getByRole('button', { name: 'Start' }), page.getByLabel('platform', { exact: true })]
  await counted.uncheck()
  await page.getByText('Choose at least one field to count by.').waitFor()
  assert.ok(await start.isDisabled())
  await counted.check()
  const { y, height } = (await start.boundingBox())!
  assert.ok(y + height <= 900, `the button ends at ${y + height}`)
  await page.getByLabel('Languages').fill('klingon')
  await start.click()
  await page.locator('.field', { hasText: 'Languages' }).getByText('Must be an ISO 639-1 code').waitFor()
  await until(
    'the invalid field has the focus',
    async () => (await page.evaluate('document.activeElement.id')) === 'scope-languages',
  )
  assert.deepEqual(await seriousInBothThemes(page, ['main']), [])
  await page.getByLabel('Languages').fill('')
  await page.getByText('Must be an ISO 639-1 code').waitFor({ state: 'detached' })
  await page.getByLabel('Repeat as a subscription').check()
  await page.getByLabel('Name').fill('Counts of the harbour')
  await page.getByLabel('Starts').selectOption('hybrid')
  await page.getByLabel('Interval (hours)').fill('12')
  await page.getByRole('button', { name: 'Subscribe' }).click()
  await page.waitForURL('**/analysis/subscriptions')
  await page.getByText('Counts, when documents change, and every 12 hours').waitFor()
  await page.getByRole('list', { name: 'History of Counts of the harbour' }).getByText('Done').waitFor()
  await page.getByRole('button', { name: 'Pause Counts of the harbour' }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Resume Counts of the harbour' }).click()
  await page.getByText('Active', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Pause Counts of the harbour' }).click()
  await page.getByText('Paused', { exact: true }).waitFor()
  assert.deepEqual(await seriousInBothThemes(page, ['main']), [])
  await page.getByRole('list', { name: 'History of Counts of the harbour' }).getByRole('link').first().click()
  await page.getByText('a subscription', { exact: true }).waitFor()
  await page.getByRole('columnheader', { name: 'platform' }).waitFor()
  assert.deepEqual(faults, [])
})

for (const colorScheme of ['light', 'dark'] as const) {
  test(`a run in ${colorScheme}: axe finds nothing serious, and nothing overflows a phone`, async () => {
    const { page: path } = await runOf('knn_graph', { datasets: ['video'], parameters: { k: 3 } })
    const { page, faults } = await open(path)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await settled(page)
    await page.locator('.graph-list button').first().click()
    await page.locator('.graph-chosen').waitFor()
    assert.deepEqual(await seriousFindings(page), [])
    await page.setViewportSize({ width: 390, height: 844 })
    const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.ok(Number(over) <= 0, `${over} px too wide for a phone`)
    assert.deepEqual(faults, [])
  })
}
