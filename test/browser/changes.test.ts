import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../support/until.ts'
import { consoleInBrowser } from './console-world.ts'

/** The change feed in a real browser: new events appear while the reader watches. */
const { world, open } = await consoleInBrowser()
const { server } = world
const harm = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'

/** Creates a dataset and an application that reads only it, so that the feed has only what the test sends. */
async function createFeedReader(dataset: string, policy: object = {}): Promise<string> {
  await server.makeDataset(dataset)
  const rates = { requests_per_second: 10_000, burst: 10_000, ...policy }
  const { key } = await server.makeApplication({
    name: dataset,
    policy: rates,
    entitlements: [{ datasets: [dataset] }],
  })
  return key
}

async function send(dataset: string, ...documents: readonly object[]): Promise<readonly string[]> {
  const whole = documents.map((one) => ({ dataset_id: dataset, source_platform: 'rss', ...one }))
  const sent = await server.collector(world.collectorKey, 'POST', '/collector/v1/documents', { documents: whole })
  assert.equal(sent.status, 200, sent.text)
  return sent.body.results.map(({ document_id }: { document_id: string }) => document_id)
}

const rows = (page: Page) => page.locator('.change')
const kinds = (page: Page) => page.locator('.change .kind').allInnerTexts()

test('every type of event appears as it arrives, the newest first', async () => {
  const key = await createFeedReader('feed-view')
  const { page, faults } = await open('/changes', { key, expected: /status of 404/ })
  await page.getByText('No events yet. New ones appear here.').waitFor()
  const [id] = await send('feed-view', { external_id: 'a', title: `gale ${harm}`, body: 'one' })
  await rows(page)
    .filter({ hasText: `gale ${harm}` })
    .waitFor()
  assert.equal(await page.locator('main img, main script').count(), 0)
  assert.equal(await page.evaluate('window.harmed'), undefined)
  await send('feed-view', { external_id: 'a', title: `gale ${harm}`, body: 'two', metrics: { views: 2 }, tags: ['x'] })
  await until('all events are listed', async () => (await rows(page).count()) === 4)
  assert.deepEqual((await kinds(page)).toSorted(), ['Metrics', 'New document', 'New version', 'Other fields'])
  await server.mustAdmin('DELETE', `/admin/v1/documents/${id}`)
  await page.locator('.change').first().getByText('Erased').waitFor()
  await page
    .getByRole('img', { name: /^Events per minute: 5 in the last hour/ })
    .locator('canvas')
    .waitFor()

  // The address has the chosen kinds.
  await page.getByRole('group', { name: 'Kind of event' }).getByLabel('Erased').check()
  await until('only the erasure is listed', async () => (await kinds(page)).join() === 'Erased')
  assert.equal(new URL(page.url()).search, '?types=document.erased')
  await page.getByRole('button', { name: 'Code' }).click()
  assert.match(await page.locator('.as-code pre').innerText(), /event_type=document\.erased/)
  assert.deepEqual(faults, [])
})

test('a paused list does not change; the copied cursor continues after the last event shown, and no event is missed', async () => {
  const key = await createFeedReader('feed-held')
  const { page, faults } = await open('/changes?from=now', { key })
  await page.getByText('No events yet. New ones appear here.').waitFor()
  await send('feed-held', { external_id: 'a', title: 'First of the tide' })
  await rows(page).filter({ hasText: 'First of the tide' }).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Paused, 1 event').waitFor()
  // The copied text is intercepted in the page, because no test may read the clipboard of another origin.
  await page.evaluate('navigator.clipboard.writeText = async (text) => { window.copied = text }')
  await page.locator('.cursor').getByRole('button').click()
  await page.locator('.cursor').getByText('Copied').waitFor()
  const cursor = String(await page.evaluate('window.copied'))
  await send('feed-held', { external_id: 'b', title: 'Second of the tide' })
  const types = 'document.created,document.version.created,document.metrics.updated,document.updated,document.erased'
  const next = await server.consumer(key, 'GET', `/v1/changes?cursor=${encodeURIComponent(cursor)}&event_type=${types}`)
  assert.equal(next.status, 200, next.text)
  assert.equal(next.body.items.length, 1, 'the cursor is after the first event and before the second')
  assert.equal(await rows(page).count(), 1)
  await page.getByRole('button', { name: 'Resume' }).click()
  await rows(page).filter({ hasText: 'Second of the tide' }).waitFor()
  assert.equal(await rows(page).count(), 2)
  await page.locator('.change-title', { hasText: 'Second of the tide' }).click()
  await page.getByRole('heading', { name: 'Second of the tide' }).waitFor()
  assert.deepEqual(faults, [])
})

test('rows do not move for a reader who has scrolled down; new events are shown on request', async () => {
  const key = await createFeedReader('feed-scroll')
  const many = Array.from({ length: 60 }, (_, i) => ({ external_id: `n${i}`, title: `Wave ${i}` }))
  await send('feed-scroll', ...many)
  const { page, faults } = await open('/changes', { key })
  await page.getByText('Waiting for new events, 60 events').waitFor()
  await until('the last row is visible', async () => {
    await page.mouse.wheel(0, 3_000)
    return (await page.locator('li[aria-posinset="60"]').count()) === 1
  })
  await send('feed-scroll', { external_id: 'late', title: 'Late wave' })
  await page.getByRole('button', { name: '1 new event: show' }).click()
  await rows(page).filter({ hasText: 'Late wave' }).waitFor()
  assert.deepEqual(faults, [])
})

test('the feed continues after a restart of the server, and no event is missed', async () => {
  const key = await createFeedReader('feed-away')
  const { page } = await open('/changes', { key })
  await page.getByText('No events yet. New ones appear here.').waitFor()
  await server.stop()
  await page.getByText('The server is not responding.').waitFor()
  await server.start()
  await send('feed-away', { external_id: 'a', title: 'After the storm' })
  await rows(page).filter({ hasText: 'After the storm' }).waitFor()
  assert.equal(await rows(page).count(), 1)
})

test('a used-up quota and a dataset without entitlement are shown as errors', async () => {
  const key = await createFeedReader('feed-quota', { daily_quotas: { changes: 1 } })
  const { page } = await open('/changes', { key, expected: /status of (429|403)/ })
  await page.getByText("Today's quota is used up").waitFor()
  await page.goto(`${world.address}/changes?datasets=news`)
  await page.getByRole('alert').waitFor()
  await page.getByRole('button', { name: 'Try again' }).waitFor()
})
