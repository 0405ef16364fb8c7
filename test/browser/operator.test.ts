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

test('an application: made, entitled with the effect shown before, given a key that is shown once, rotated, revoked', async () => {
  const { page, faults } = await operate('applications')
  await page.getByRole('button', { name: 'New application' }).click()
  await page.getByLabel('Name').fill(attack)
  await page.getByRole('button', { name: 'Make it' }).click()
  await page.getByRole('heading', { name: attack, level: 1 }).waitFor()
  await page.getByText('Nothing: it has no entitlements.').waitFor()

  await page.getByRole('button', { name: 'Edit entitlements' }).click()
  await page.getByLabel('news', { exact: true }).check()
  await page.getByLabel('Languages').fill('en')
  const body = { entitlements: [{ datasets: ['news'], languages: ['en'] }] }
  const { documents } = await server.mustAdmin('POST', '/admin/v1/entitlements/count', body)
  assert.ok(documents > 10)
  await page.getByText(`Sees 0 documents now, ${documents} after saving: ${documents} more.`).waitFor()
  await page.getByLabel('Languages').fill('1')
  await page.getByText(/entitlements\.0\.languages/i).waitFor()
  await page.getByLabel('Languages').fill('en')
  await page.getByText(`${documents} more.`).waitFor()
  await page.getByRole('button', { name: 'Save entitlements' }).click()
  await page
    .getByText('Documents of the dataset news, from any platform, in the language en, with every field.')
    .waitFor()

  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('button', { name: 'Make the key' }).click()
  const first = await page.locator('.secret code').innerText()
  assert.equal((await server.consumer(first, 'GET', '/v1/account')).body.name, attack)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Rotate the key laptop' }).click()
  await page.getByLabel('Hours that the old key still works').fill('0')
  await page.getByRole('button', { name: 'Make the new key' }).click()
  const second = await page.locator('.secret code').innerText()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  assert.equal((await server.consumer(first, 'GET', '/v1/account')).status, 401)
  assert.equal((await server.consumer(second, 'GET', '/v1/account')).status, 200)
  await page.getByText('expired', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Revoke the key laptop' }).click()
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByText('revoked', { exact: true }).waitFor()
  assert.equal((await server.consumer(second, 'GET', '/v1/account')).status, 401)
  for (const secret of [first, second]) assert.ok(!(await page.content()).includes(secret), 'it is not shown again')

  await page.getByRole('button', { name: 'Edit name and limits' }).click()
  await page.getByLabel('Policy, as JSON').fill('{"burst": 0}')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText(/policy\.burst must be/i).waitFor()
  await page.getByLabel('Policy, as JSON').fill('{"burst": 7')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('The policy is no JSON.').waitFor()
  await page.getByLabel('Policy, as JSON').fill('{"burst": 7}')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('"burst": 7').first().waitFor()
  await page.getByRole('button', { name: 'Delete this application' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.waitForURL('**/operate/applications')
  assert.deepEqual(
    faults.filter((fault) => !/status of 400/.test(fault)),
    [],
  )
})

test('a viewer sees everything, and why what would change it is not for them', async () => {
  const { admin_token: viewer } = await server.mustAdmin('POST', '/admin/v1/tokens', { name: 'Vera', role: 'viewer' })
  const { page, faults } = await open(`/operate/applications/${world.applicationId}`)
  await page.getByLabel('Admin token').fill(viewer)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Sample reader', level: 1 }).waitFor()
  const edit = page.getByRole('button', { name: 'Edit entitlements' })
  await page
    .getByText('This needs the role operator; you are signed in as viewer.')
    .first()
    .waitFor({ state: 'attached' })
  assert.equal(await edit.getAttribute('aria-disabled'), 'true')
  await edit.click({ force: true })
  await page.getByText('Documents of the datasets').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Save entitlements' }).count(), 0)
  assert.deepEqual(faults, [])
})
