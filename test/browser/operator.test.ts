import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminToken } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'
import { consoleInBrowser, type Opened, type Opening } from './console-world.ts'

/** What an operator sees and does in the console. */
const { world, open } = await consoleInBrowser()
const { server } = world
const operate = (path: string, opening: Opening = {}): Promise<Opened> =>
  open(`/operate/${path}`, { key: adminToken, ...opening })

/** Would run, were it read as markup. */
const attack = '<img src=x onerror="document.title=1">'

test('overview: documents, backlog, disk, requests with their latencies, and what doctor finds', async () => {
  const { applicationId } = await server.makeApplication({ name: attack, entitlements: [{ datasets: ['not-there'] }] })
  await server.consumer(world.key, 'POST', '/v1/search', { query: 'harbour' })
  const { page, faults } = await operate('overview')
  await page.getByText(`application "${attack}" (${applicationId}) is entitled to datasets that do not exist`).waitFor()
  await page.getByText('check the spelling, or make them').first().waitFor()
  const tile = (name: string) => page.locator('.tile', { has: page.getByText(name, { exact: true }) })
  await until('the documents are counted', async () => {
    const { indexed_documents: documents } = await server.mustAdmin('GET', '/admin/v1/indexing')
    return (await tile('Documents').innerText()).includes(Number(documents).toLocaleString('en-US'))
  })
  await tile('Disk').getByText('free').waitFor()
  await tile('Backlog').waitFor()
  const searches = page.getByRole('row').filter({ hasText: 'search.default' })
  await searches
    .getByText(/^[\d.]+ m?s$/)
    .first()
    .waitFor()
  // What is asked meanwhile is counted, as often as it is looked.
  const requests = async () => Number((await searches.getByRole('cell').nth(1).innerText()).replaceAll(/\D/g, ''))
  const before = await requests()
  await server.consumer(world.key, 'POST', '/v1/search', { query: 'harbour' })
  await until('the search is counted', async () => (await requests()) > before)
  assert.equal(await page.title(), 'Overview · Tidemark')
  assert.deepEqual(faults, [])
})
