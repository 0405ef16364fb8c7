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
  // It is seen this once: only its button closes the box.
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.secret code').innerText(), first)
  await page.getByRole('button', { name: 'I have copied it' }).click()
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
  assert.equal(await page.locator('.who-name').innerText(), 'Vera (viewer)')
  assert.equal(await edit.getAttribute('aria-disabled'), 'true')
  await edit.click({ force: true })
  await page.getByText('Documents of the datasets').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Save entitlements' }).count(), 0)
  assert.deepEqual(faults, [])
})

test('datasets with how many documents each has, and classifications: made, edited; one in use is not deleted', async () => {
  const { page, faults } = await operate('datasets', { expected: /status of 409/ })
  const { documents } = await server.mustAdmin('POST', '/admin/v1/entitlements/count', {
    entitlements: [{ datasets: ['video'] }],
  })
  const video = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'video', exact: true }) })
  await video.getByText(String(documents), { exact: true }).waitFor()
  await page.getByRole('button', { name: 'New dataset' }).click()
  await page.getByLabel('Id', { exact: true }).fill('operated')
  await page.getByLabel('Name').fill(attack)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'operated', exact: true }).click()
  await page.waitForURL('**/operate/datasets?dataset=operated')
  await page.getByText('It has none.').waitFor()
  await page.getByRole('button', { name: 'New classification' }).click()
  await page.getByLabel('Code').fill('tide')
  await page.getByLabel('Name').fill(attack)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Edit tide' }).click()
  await page.getByLabel('Active').uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('inactive', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit operated' }).click()
  await page.getByLabel('Days that documents are kept').fill('30')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('for 30 days').waitFor()
  await page.getByRole('button', { name: 'Delete operated' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText(/is in use/i).waitFor()
  await page.getByRole('button', { name: 'Leave it' }).click()
  assert.deepEqual(faults, [])
})

test('a collector with its key, the task of a live query that it works on, and an erasure', async () => {
  const dataset = 'operated-live'
  await server.makeDataset(dataset)
  const { page, faults } = await operate('collectors', { expected: /status of 404/ })
  await page.getByRole('button', { name: 'New collector' }).click()
  await page.getByLabel('Name').fill(attack)
  await page.getByLabel('Datasets that it writes to').fill(`${dataset}, ${dataset}`)
  await page.getByRole('button', { name: 'Make it, with its key' }).click()
  const key = await page.locator('.secret code').innerText()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  const collect = (path: string, body: object) =>
    server.call('POST', `/collector/v1/${path}`, { headers: { authorization: `Bearer ${key}` }, body })
  const lease = () => collect('tasks/lease', { platforms: ['operated'], lease_seconds: 900 })
  await lease()
  const reader = await server.makeApplication({
    name: 'Asks live',
    policy: { live: { enabled: true } },
    entitlements: [{ datasets: [dataset] }],
  })
  const asked = await server.call('POST', '/v1/live-queries', {
    headers: { authorization: `Bearer ${reader.key}`, 'idempotency-key': 'operated' },
    body: {
      query: attack,
      datasets: [dataset],
      platforms: ['operated'],
      resource_kind: 'content',
      deadline_seconds: 900,
    },
  })
  assert.equal(asked.status, 202, asked.text)
  const [task] = (await lease()).body.tasks
  const row = page.getByRole('row').filter({ hasText: reader.applicationId })
  await row.getByText('running', { exact: true }).waitFor()
  await row.getByText('0 of 20').waitFor()
  await collect(`tasks/${task.task_id}/complete`, { status: 'failed', error: { code: 'gone', message: attack } })
  await until('it is among those that are over', async () => (await row.count()) === 0)
  await page.getByLabel('Those that are over, too').check()
  await row.getByText('failed', { exact: true }).waitFor()
  await page.waitForURL('**/operate/collectors?all=1')

  const sent = await collect('documents', {
    documents: [{ dataset_id: dataset, source_platform: 'operated', external_id: 'a', title: 'A', body: 'B' }],
  })
  const [{ document_id: documentId }] = sent.body.results
  await page.getByRole('link', { name: 'Erasures' }).click()
  await page.getByRole('button', { name: 'Erase documents' }).click()
  await page.getByLabel('Document ids').fill(documentId)
  await page.getByRole('button', { name: 'Erase for good' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const [erasure] = (await server.mustAdmin('GET', '/admin/v1/erasures?limit=1')).erasures
  const erased = page.getByRole('row').filter({ hasText: erasure.erasure_id })
  await erased.getByText('completed', { exact: true }).waitFor()
  assert.equal(await erased.getByRole('cell').nth(2).innerText(), '1')
  assert.equal((await server.consumer(reader.key, 'GET', `/v1/documents/${documentId}`)).status, 404)
  await page.getByRole('button', { name: 'Erase documents' }).click()
  await page.getByLabel('What', { exact: true }).selectOption('All that a dataset has now')
  await page.getByLabel('Dataset').fill('not-there')
  await page.getByRole('button', { name: 'Erase for good' }).click()
  await page.getByText(/there is no dataset/i).waitFor()
  assert.deepEqual(faults, [])
})

test('the run queue, usage by application and day, the audit log, and an administrator whom it names', async () => {
  const reader = await server.makeApplication({
    name: attack,
    policy: { analysis_enabled: true },
    entitlements: [{ datasets: ['video'] }],
  })
  const profile = (await server.consumer(reader.key, 'GET', '/v1/account')).body.embedding_profiles[0].id
  const { body: run } = await server.consumer(reader.key, 'POST', '/v1/analysis/runs', {
    analysis_type: 'knn_graph',
    embedding_profile_id: profile,
    input_scope: { dataset_ids: ['video'] },
  })
  const { page, faults } = await operate('runs?all=1')
  const row = page.getByRole('row').filter({ hasText: run.run_id })
  await row.getByText('succeeded', { exact: true }).waitFor()
  await row.getByRole('link', { name: attack }).waitFor()

  await page.getByRole('link', { name: 'Usage' }).click()
  await page.getByLabel('Application').selectOption(reader.applicationId)
  await page.waitForURL(`**/operate/usage?days=7&application=${reader.applicationId}`)
  // Use is written down a moment after it.
  await until('the use is shown', async () => {
    await page.reload()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.getByText(/Nothing was asked|Requests by day/).waitFor()
    return (await page.getByText('analysis.runs.create').count()) > 0
  })

  await page.getByRole('link', { name: 'Administrators' }).click()
  await page.getByRole('button', { name: 'New administrator' }).click()
  await page.getByLabel('Name').fill(attack)
  await page.getByLabel('Role').selectOption('operator')
  await page.getByRole('button', { name: 'Make the token' }).click()
  const token = await page.locator('.secret code').innerText()
  await page.getByRole('button', { name: 'I have copied it' }).click()
  const asThem = (path: string) =>
    server.call('PUT', path, { headers: { authorization: `Bearer ${token}` }, body: { name: 'By them' } })
  assert.equal((await asThem('/admin/v1/datasets/operated-audit')).status, 201)
  await page.getByRole('button', { name: `Revoke the token of ${attack}` }).click()
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByText('revoked', { exact: true }).waitFor()
  assert.equal((await asThem('/admin/v1/datasets/operated-audit')).status, 401)

  await page.getByRole('link', { name: 'Audit' }).click()
  const line = page.getByRole('row').filter({ hasText: 'operated-audit' })
  await line.getByText(JSON.stringify(attack)).waitFor()
  await line.getByText('Show').click()
  await line.getByText('"name": "By them"').waitFor()
  const shown = await page.getByRole('row').count()
  await page.getByRole('button', { name: 'Older ones' }).click()
  await until('older ones are there', async () => (await page.getByRole('row').count()) > shown)
  assert.equal(await page.title(), 'Audit · Tidemark')
  assert.deepEqual(faults, [])
})

test('a server that goes away while an operator looks: said, and everything goes on when it is back', async () => {
  const { page } = await operate('audit')
  await page.getByText('dataset.put').first().waitFor()
  await server.stop()
  await page.getByRole('link', { name: 'Datasets' }).click()
  await page.getByText('The server does not answer.').waitFor()
  await server.start()
  await page.getByRole('link', { name: 'video', exact: true }).waitFor()
  await until('the notice is gone', async () => (await page.locator('.trouble').innerText()) === '')
})
