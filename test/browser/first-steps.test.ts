import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminToken, noVectors, startServer } from '../acceptance/harness.ts'
import { consoleInBrowser, openPage } from './console-world.ts'

/** Empty pages say what to do next. */
const { world, context, open } = await consoleInBrowser()
const { server } = world

test('a reader without documents sees how to add some, and the first one when it arrives', async () => {
  await server.makeDataset('first-steps')
  const { key } = await server.makeApplication({ name: 'Early', entitlements: [{ datasets: ['first-steps'] }] })
  const search = await open('/search', { key })
  const documents = await open('/documents', { key })
  for (const { page } of [search, documents]) {
    await page.getByRole('heading', { name: 'No documents yet' }).waitFor()
    for (const command of [
      'tidemark import documents.ndjson',
      'tidemark collect feeds feeds.yaml',
      'tidemark start --data-dir ./sample-data --port 8081',
    ]) {
      await page.locator('.snippet', { hasText: command }).getByRole('button', { name: 'Copy' }).waitFor()
    }
    assert.doesNotMatch(await page.locator('main').innerText(), /Nothing found|No documents match/)
  }
  await server.collector(world.collectorKey, 'POST', '/collector/v1/documents', {
    documents: [{ dataset_id: 'first-steps', source_platform: 'rss', external_id: '1', title: 'First light' }],
  })
  await documents.page.getByText('1 document, newest first').waitFor()
  await documents.page.getByText('First light').waitFor()
  await search.page.getByText('Results appear as you type.').waitFor()
  assert.deepEqual([...search.faults, ...documents.faults], [])
})

test('an application without entitlements sees that it has none', async () => {
  const { key } = await server.makeApplication({ name: 'Nobody yet', entitlements: [] })
  const { page } = await open('/search', { key, expected: /status of 403/ })
  await page.getByText('This application has no entitlements.').waitFor()
  assert.equal(await page.locator('.first-steps .snippet').count(), 0)
})

test('the overview of a new instance has links to the first steps', async () => {
  const fresh = await startServer({ env: noVectors })
  const { page, faults } = await openPage(context, `${fresh.address}/operate/overview`, { key: adminToken })
  const steps = page.getByRole('region', { name: 'Get started' })
  await steps.locator('.snippet', { hasText: 'tidemark app create "My app"' }).waitFor()
  assert.equal(await page.locator('.tile', { hasText: 'Documents' }).count(), 0)
  await steps.getByRole('link', { name: 'Create a dataset' }).click()
  await page.getByText('No datasets yet.').waitFor()
  await page.getByRole('button', { name: 'New dataset' }).waitFor()
  assert.deepEqual(faults, [])
})

test('an operator sees why they cannot erase many documents, and what they can do', async () => {
  const { admin_token: key } = await server.mustAdmin('POST', '/admin/v1/tokens', { name: 'Olive', role: 'operator' })
  const { page, faults } = await open('/operate/erasures')
  await page.getByLabel('Admin token').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Erasing many documents at once needs the role owner.').waitFor()
  await page.getByRole('link', { name: 'DELETE /admin/v1/documents/{document_id}' }).click()
  await page.locator('[id="admin.documents.erase"]').waitFor()
  assert.deepEqual(faults, [])
})
