import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { adminToken } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'
import { consoleInBrowser, type Opened, type Opening } from './console-world.ts'
import { seriousInBothThemes } from './serious-findings.ts'

/** The operator's views of the console. */
const { world, open } = await consoleInBrowser()
const { server } = world
const operate = (path: string, opening: Opening = {}): Promise<Opened> =>
  open(`/operate/${path}`, { key: adminToken, ...opening })

/** Returns the API path of the application that a page shows. */
const apiOf = (page: Page): string => `/admin/v1/applications/${new URL(page.url()).pathname.split('/').at(-1)}`

/** A browser that parsed this as markup would run its script. */
const attack = '<img src=x onerror="document.title=1">'

test('the overview shows documents, backlog, disk, requests with latencies, and the findings of doctor', async () => {
  const { applicationId } = await server.makeApplication({ name: attack, entitlements: [{ datasets: ['not-there'] }] })
  await server.consumer(world.key, 'POST', '/v1/search', { query: 'harbour' })
  const { page, faults } = await operate('overview')
  await page.getByText(`application "${attack}" (${applicationId}) is entitled to datasets that do not exist`).waitFor()
  await page.getByText('check the spelling, or create them').first().waitFor()
  const tile = (name: string) => page.locator('.tile', { has: page.getByText(name, { exact: true }) })
  await until('the tile shows the number of documents', async () => {
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
  // Each sample updates the number of requests.
  const requests = async () => Number((await searches.getByRole('cell').nth(1).innerText()).replaceAll(/\D/g, ''))
  const before = await requests()
  await server.consumer(world.key, 'POST', '/v1/search', { query: 'harbour' })
  await until('the search is counted', async () => (await requests()) > before)
  assert.equal(await page.title(), 'Overview · Tidemark')
  assert.equal(await page.locator('.who-name').innerText(), 'Instance token (owner)')
  assert.deepEqual(faults, [])
})

test('an application is created, gets entitlements with a preview, and a key that is shown once, rotated and revoked', async () => {
  const { page, faults } = await operate('applications')
  await page.getByRole('button', { name: 'New application' }).click()
  await page.getByLabel('Name').fill(attack)
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: attack, level: 1 }).waitFor()
  await page.getByText('No entitlements: it can read nothing.').waitFor()

  await page.getByRole('button', { name: 'Edit entitlements' }).click()
  await page.getByLabel('news', { exact: true }).check()
  await page.getByLabel('Languages').fill('en')
  const body = { entitlements: [{ datasets: ['news'], languages: ['en'] }] }
  const { documents } = await server.mustAdmin('POST', '/admin/v1/entitlements/count', body)
  assert.ok(documents > 10)
  await page.getByText(`Can read 0 documents now and ${documents} after saving (${documents} more).`).waitFor()
  await page.getByLabel('Languages').fill('1')
  await page.getByText(/^Entry 1, Languages: must be a language code/).waitFor()
  const wrong = page.getByLabel('Languages')
  assert.equal(await wrong.getAttribute('aria-invalid'), 'true')
  await wrong.locator('..').getByText('must be a language code').waitFor()
  await wrong.fill('en')
  await page.getByText(`(${documents} more)`).waitFor()
  // A value that no document has is allowed, with a hint.
  await page.getByLabel('Platforms').fill('rsss')
  await page.getByText('Nothing in these datasets has rsss.').waitFor()
  await page.getByLabel('Platforms').fill('')
  await page.getByText('Nothing in these datasets has').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Save entitlements' }).click()
  await page
    .getByText('Documents of the dataset news, from any platform, in the language en, with every field.')
    .waitFor()

  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('button', { name: 'Create key' }).click()
  const first = await page.locator('.secret code').innerText()
  assert.equal((await server.consumer(first, 'GET', '/v1/account')).body.name, attack)
  // The key is shown only once, so only its button closes the dialog.
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  assert.equal(await page.locator('.secret code').innerText(), first)
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Rotate key laptop' }).click()
  await page.getByLabel('Hours until the old key stops working').fill('0')
  await page.getByRole('button', { name: 'Create new key' }).click()
  const second = await page.locator('.secret code').innerText()
  await page.getByRole('button', { name: 'Done' }).click()
  assert.equal((await server.consumer(first, 'GET', '/v1/account')).status, 401)
  assert.equal((await server.consumer(second, 'GET', '/v1/account')).status, 200)
  await page.getByText('expired', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Revoke key laptop' }).click()
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByText('revoked', { exact: true }).waitFor()
  assert.equal((await server.consumer(second, 'GET', '/v1/account')).status, 401)
  for (const secret of [first, second]) assert.ok(!(await page.content()).includes(secret), 'it is not shown again')

  await page.getByRole('button', { name: 'Edit name and limits' }).click()
  await page.getByLabel('Requests per second').fill('2.5')
  await page.getByLabel('Searches per day', { exact: true }).fill('10')
  await page.getByLabel('May start live collection').check()
  await page.getByLabel('Copies').check()
  await page.getByRole('button', { name: 'Edit as JSON' }).click()
  const json = page.getByLabel('Policy, as JSON')
  const filled = {
    analysis_enabled: false,
    requests_per_second: 2.5,
    daily_quotas: { search: 10 },
    live: { enabled: true },
    analysis: { types: ['deduplication'] },
  }
  assert.deepEqual(JSON.parse(await json.inputValue()), filled)
  await json.fill('{"burst": 7')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('The policy is not valid JSON.').waitFor()
  await json.fill('{"burst": 0}')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText(/^Burst: must be/).waitFor()
  await json.fill(JSON.stringify({ ...filled, burst: 7 }))
  await page.getByRole('button', { name: 'Edit as a form' }).click()
  assert.equal(await page.getByLabel('Burst').inputValue(), '7')
  await page.getByLabel('Searches per day', { exact: true }).fill('')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.locator('.limits div', { hasText: 'Burst' }).getByText('7', { exact: true }).waitFor()
  const { daily_quotas: _, ...saved } = filled
  assert.deepEqual((await server.mustAdmin('GET', apiOf(page))).policy, { ...saved, burst: 7 })
  await page.getByRole('button', { name: 'Delete this application' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.waitForURL('**/operate/applications')
  assert.deepEqual(
    faults.filter((fault) => !/status of 400/.test(fault)),
    [],
  )
})

test('if two people edit one application, the second sees the changes of the first, and loses no edits', async () => {
  const { applicationId } = await server.makeApplication({
    name: 'Edited by two',
    policy: { burst: 5 },
    entitlements: [{ datasets: ['news', 'video'] }],
  })
  const { admin_token: token } = await server.mustAdmin('POST', '/admin/v1/tokens', { name: 'Ada', role: 'operator' })
  const asAda = async (method: string, path: string, body: object): Promise<void> => {
    const answer = await server.call(method, path, { headers: { authorization: `Bearer ${token}` }, body })
    assert.equal(answer.status, 200, answer.text)
  }
  const { page, faults } = await operate(`applications/${applicationId}`, { expected: /status of 412/ })
  const api = apiOf(page)
  await page.getByRole('button', { name: 'Edit entitlements' }).click()
  await page.getByLabel('video', { exact: true }).uncheck()
  await page.getByLabel('community', { exact: true }).check()
  await asAda('PUT', `${api}/entitlements`, { entitlements: [{ datasets: ['video'], platforms: ['podcast'] }] })
  await page.getByRole('button', { name: 'Save entitlements' }).click()
  const conflict = page.locator('.conflict')
  await conflict.getByText('Ada changed this while you were editing').waitFor()
  await conflict.getByText('Documents of the dataset video, from the platform podcast').waitFor()
  await conflict.getByText('Documents of the datasets news and community, from any platform').waitFor()
  await page.getByText('Not saved yet').waitFor()
  assert.deepEqual((await server.mustAdmin('GET', api)).entitlements[0].datasets, ['video'])
  // The current number is counted with the stored entitlements.
  const body = { entitlements: [{ datasets: ['video'], platforms: ['podcast'] }] }
  const { documents } = await server.mustAdmin('POST', '/admin/v1/entitlements/count', body)
  await page.getByText(`Can read ${documents} documents now and`).waitFor()
  // A change to another part of the application does not concern the person who edits this part.
  await asAda('PATCH', api, { policy: { burst: 6 } })
  await page.getByRole('button', { name: 'Save entitlements' }).click()
  await page.locator('.editor').waitFor({ state: 'detached' })
  await page.getByText('Documents of the datasets news and community, from any platform').waitFor()
  assert.deepEqual((await server.mustAdmin('GET', api)).entitlements[0].datasets, ['news', 'community'])

  // Untouched limits take their stored values.
  await page.getByRole('button', { name: 'Edit name and limits' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Edited by three')
  await asAda('PATCH', api, { policy: { burst: 8, daily_quotas: { search: 3 } } })
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await conflict.getByText('Searches per day').waitFor()
  assert.equal(await page.getByLabel('Burst').inputValue(), '8')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('heading', { name: 'Edited by three', level: 1 }).waitFor()
  const { policy } = await server.mustAdmin('GET', api)
  assert.deepEqual([policy.burst, policy.daily_quotas], [8, { search: 3 }])

  await server.makeDataset('edited-by-two')
  await page.getByRole('link', { name: 'Datasets' }).click()
  await page.getByRole('button', { name: 'Edit edited-by-two' }).click()
  await page.getByLabel('Description').fill('Of the one')
  await asAda('PUT', '/admin/v1/datasets/edited-by-two', { name: 'Of the other' })
  await page.getByRole('button', { name: 'Save' }).click()
  await conflict.getByText('Ada changed this').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Of the other. Of the one').waitFor()
  assert.deepEqual(faults, [])
})

test('leaving unsaved edits by a link, by "back" or by closing the page needs a confirmation', async () => {
  const { page, faults } = await operate('applications')
  await page.getByRole('link', { name: 'Sample reader', exact: true }).click()
  await page.getByRole('button', { name: 'Edit entitlements' }).click()
  const remaining = page.getByRole('button', { name: 'Save entitlements' })
  const questions: string[] = []
  let answer = false
  page.on('dialog', async (dialog) => {
    questions.push(dialog.type())
    await (answer ? dialog.accept() : dialog.dismiss())
  })
  // Nothing has been changed yet, so there is no question.
  await page.getByRole('link', { name: 'Audit' }).click()
  await page.waitForURL('**/operate/audit')
  await page.goBack()
  await page.getByRole('button', { name: 'Edit entitlements' }).click()
  await page.getByLabel('Regions').first().fill('XX')
  await page.getByRole('link', { name: 'Audit' }).click()
  await until('the page asks', () => questions.length === 1)
  await page.goBack()
  await until('the page asks again', () => questions.length === 2)
  await page.waitForURL(`**/operate/applications/${world.applicationId}`)
  assert.equal(await page.getByLabel('Regions').first().inputValue(), 'XX')
  await remaining.waitFor()
  answer = true
  await page.getByRole('link', { name: 'Audit' }).click()
  await page.waitForURL('**/operate/audit')
  assert.deepEqual(questions, ['confirm', 'confirm', 'confirm'])
  await page.goBack()
  await page.getByRole('button', { name: 'Edit entitlements' }).click()
  await page.getByLabel('Regions').first().fill('XX')
  await page.close({ runBeforeUnload: true })
  await until('the browser asks', () => questions.at(-1) === 'beforeunload')
  assert.deepEqual(faults, [])
})

test('on a phone the navigation shows the current view, and where it continues', async () => {
  const { page } = await operate('audit', { width: 390 })
  const bar = page.getByRole('navigation', { name: 'Views' })
  const current = bar.getByRole('link', { name: 'Audit' })
  const isInSight = async () => {
    const { x, width } = (await current.boundingBox())!
    return x >= 0 && x + width <= 390
  }
  await until('the link to the current view is visible', isInSight)
  await until('the navigation continues to the left', async () =>
    /before|both/.test((await bar.getAttribute('data-more')) ?? ''),
  )
  await bar.evaluate((one) => one.scrollTo({ left: 0 }))
  await until('the navigation continues to the right', async () => (await bar.getAttribute('data-more')) === 'after')
})

test('in dialogs axe finds nothing serious in light and dark, and nothing overflows a phone', async () => {
  const { applicationId } = await server.makeApplication({ name: 'Looked at', entitlements: [{ datasets: ['gone'] }] })
  const { page, faults } = await operate(`applications/${applicationId}`, { expected: /status of 4(00|12)/ })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const checkAccessibility = async (what: string, part = '.dialog'): Promise<void> => {
    assert.deepEqual(await seriousInBothThemes(page, [part]), [], what)
    await page.setViewportSize({ width: 390, height: 844 })
    const over = await page.locator(part).evaluate((one) => one.scrollWidth - one.clientWidth)
    assert.ok(over <= 0, `${what} is ${over} px too wide for a phone`)
    await page.setViewportSize({ width: 1280, height: 900 })
  }
  await button('Edit entitlements').click()
  await page.getByText('does not exist').waitFor()
  await page.getByLabel('Languages').fill('1')
  await page.getByText('Entry 1, Languages').waitFor()
  await checkAccessibility('the editor of entitlements', '.editor')
  await page.getByLabel('Languages').fill('')
  await button('Cancel').click()
  await button('New key').click()
  await checkAccessibility('a new key')
  await button('Create key').click()
  await page.locator('.secret').waitFor()
  await checkAccessibility('a secret')
  await button('Done').click()
  await button('Edit name and limits').click()
  await checkAccessibility('limits')
  await server.mustAdmin('PATCH', apiOf(page), { policy: { burst: 9 } })
  await button('Save').click()
  await page.locator('.conflict').waitFor()
  await checkAccessibility('limits that somebody changed')
  await button('Cancel').click()
  await page.getByRole('link', { name: 'Erasures' }).click()
  await button('Erase documents').click()
  await page.getByLabel('What', { exact: true }).selectOption('All documents of a dataset')
  await page.getByLabel('Dataset', { exact: true }).selectOption('video')
  await page.getByLabel('Type video to confirm').waitFor()
  await checkAccessibility('an erasure')
  assert.deepEqual(faults, [])
})

test('a viewer sees everything, and the reason why they may not change it', async () => {
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
  // On a phone nothing can hover, so touching the button shows the reason.
  await edit.click({ force: true })
  await page.locator('.act-reason').getByText('This needs the role operator').waitFor()
  await page.getByText('Documents of the datasets').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Save entitlements' }).count(), 0)
  assert.deepEqual(faults, [])
})

test('datasets show their number of documents; they and their classifications are created and edited; one in use is not deleted', async () => {
  const { page, faults } = await operate('datasets', { expected: /status of 409/ })
  const { documents } = await server.mustAdmin('POST', '/admin/v1/entitlements/count', {
    entitlements: [{ datasets: ['video'] }],
  })
  const video = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'video', exact: true }) })
  await video.getByText(String(documents), { exact: true }).waitFor()
  await page.getByRole('button', { name: 'New dataset' }).click()
  await page.getByLabel('ID', { exact: true }).fill('news')
  await page.getByLabel('Name').fill(attack)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The dataset news already exists.').waitFor()
  await page.getByLabel('ID', { exact: true }).fill('operated')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('link', { name: 'operated', exact: true }).click()
  await page.waitForURL('**/operate/datasets?dataset=operated')
  await page.getByText('No classifications yet.').waitFor()
  await page.getByRole('button', { name: 'New classification' }).click()
  await page.getByLabel('Code').fill('tide')
  await page.getByLabel('Name').fill(attack)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Edit tide' }).click()
  await page.getByLabel('Active').uncheck()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('inactive', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit operated' }).click()
  await page.getByLabel('Retention (days)').fill('30')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('30 days').waitFor()
  await page.getByRole('button', { name: 'Delete operated' }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText(/is in use/i).waitFor()
  await page.getByLabel('Erase its documents').check()
  await page.getByText('This dataset has no documents in the search index.').waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('link', { name: 'operated', exact: true }).waitFor({ state: 'detached' })
  // If documents would be erased, the checkbox alone is not enough.
  await page.getByRole('button', { name: 'Delete news' }).click()
  await page.getByLabel('Erase its documents').check()
  await page.getByText(/^[\d,]+ documents will be erased for good\.$/).waitFor()
  await page.getByLabel('Type news to confirm').fill('video')
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByText('Type news exactly to confirm.').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.deepEqual(faults, [])
})

test('a new collector gets its key, its live query task is listed, and an erasure is shown with its progress', async () => {
  const dataset = 'operated-live'
  await server.makeDataset(dataset)
  const { page, faults } = await operate('collectors', { expected: /status of 404/ })
  await page.getByRole('button', { name: 'New collector' }).click()
  await page.getByLabel('Name').fill(attack)
  await page.getByLabel('Datasets it writes to').fill(`${dataset}, ${dataset}`)
  await page.getByRole('button', { name: 'Create' }).click()
  const key = await page.locator('.secret code').innerText()
  await page.getByRole('button', { name: 'Done' }).click()
  const collect = (path: string, body: object) =>
    server.call('POST', `/collector/v1/${path}`, { headers: { authorization: `Bearer ${key}` }, body })
  const lease = () => collect('tasks/lease', { platforms: ['operated'], lease_seconds: 900 })
  await lease()
  const reader = await server.makeApplication({
    name: 'Asks live',
    policy: { live: { enabled: true } },
    entitlements: [{ datasets: [dataset] }],
  })
  const questions = await server.call('POST', '/v1/live-queries', {
    headers: { authorization: `Bearer ${reader.key}`, 'idempotency-key': 'operated' },
    body: {
      query: attack,
      datasets: [dataset],
      platforms: ['operated'],
      resource_kind: 'content',
      deadline_seconds: 900,
    },
  })
  assert.equal(questions.status, 202, questions.text)
  const [task] = (await lease()).body.tasks
  const row = page.getByRole('row').filter({ hasText: reader.applicationId })
  await row.getByText('running', { exact: true }).waitFor()
  await row.getByText('0 of 20').waitFor()
  await collect(`tasks/${task.task_id}/complete`, { status: 'failed', error: { code: 'gone', message: attack } })
  await until('the task is no longer listed as unfinished', async () => (await row.count()) === 0)
  await page.getByLabel('Include finished ones').check()
  await row.getByText('failed', { exact: true }).waitFor()
  await page.waitForURL('**/operate/collectors?all=1')

  const sent = await collect('documents', {
    documents: [{ dataset_id: dataset, source_platform: 'operated', external_id: 'a', title: 'A', body: 'B' }],
  })
  const [{ document_id: documentId }] = sent.body.results
  await page.getByRole('link', { name: 'Erasures' }).click()
  await page.getByRole('button', { name: 'Erase documents' }).click()
  await page.getByLabel('Document IDs').fill(documentId)
  await page.getByRole('button', { name: 'Erase for good' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  const [erasure] = (await server.mustAdmin('GET', '/admin/v1/erasures?limit=1')).erasures
  const erased = page.getByRole('row').filter({ hasText: erasure.erasure_id })
  await erased.getByText('completed', { exact: true }).waitFor()
  assert.equal(await erased.getByRole('cell').nth(2).innerText(), '1')
  assert.equal((await server.consumer(reader.key, 'GET', `/v1/documents/${documentId}`)).status, 404)
  await page.getByRole('button', { name: 'Erase documents' }).click()
  await page.getByLabel('What', { exact: true }).selectOption('All documents of a dataset')
  const { documents: inNews } = await server.mustAdmin('POST', '/admin/v1/entitlements/count', {
    entitlements: [{ datasets: ['news'] }],
  })
  await page.getByLabel('Dataset', { exact: true }).selectOption('news')
  await page.getByText(`${inNews} documents will be erased for good.`).waitFor()
  await page.getByLabel('Type news to confirm').fill('new')
  await page.getByRole('button', { name: 'Erase for good' }).click()
  await page.getByText('Type news exactly to confirm.').waitFor()
  await page.getByLabel('Dataset', { exact: true }).selectOption(dataset)
  await page.getByText('This dataset has no documents in the search index.').waitFor()
  await page.getByRole('button', { name: 'Erase for good' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.deepEqual(faults, [])
})

test('the run queue, usage by application and day, and the audit log, which names an administrator', async () => {
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
  await page.getByRole('combobox', { name: 'Application' }).selectOption(reader.applicationId)
  await page.waitForURL(`**/operate/usage?days=7&application=${reader.applicationId}`)
  // Usage is recorded a moment later.
  await until('the usage is shown', async () => {
    await page.reload()
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.getByText(/No requests in this period|Requests by day/).waitFor()
    return (await page.getByText('analysis.runs.create').count()) > 0
  })

  await page.getByRole('link', { name: 'Administrators' }).click()
  await page.getByRole('button', { name: 'New administrator' }).click()
  await page.getByLabel('Name').fill(attack)
  await page.getByLabel('Role').selectOption('operator')
  await page.getByRole('button', { name: 'Create token' }).click()
  const token = await page.locator('.secret code').innerText()
  await page.getByRole('button', { name: 'Done' }).click()
  const asThem = (path: string) =>
    server.call('PUT', path, { headers: { authorization: `Bearer ${token}` }, body: { name: 'By them' } })
  assert.equal((await asThem('/admin/v1/datasets/operated-audit')).status, 201)
  await page.getByRole('button', { name: `Revoke token ${attack}` }).click()
  await page.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByText('revoked', { exact: true }).waitFor()
  assert.equal((await asThem('/admin/v1/datasets/operated-audit')).status, 401)

  await page.getByRole('link', { name: 'Audit' }).click()
  const line = page.getByRole('row').filter({ hasText: 'operated-audit' })
  await line.getByText(JSON.stringify(attack)).waitFor()
  await line.getByText('Show').click()
  await line.getByText('"name": "By them"').waitFor()
  const shown = await page.getByRole('row').count()
  await page.getByRole('button', { name: 'Load more' }).click()
  await until('older entries are listed', async () => (await page.getByRole('row').count()) > shown)
  assert.equal(await page.title(), 'Audit · Tidemark')
  assert.deepEqual(faults, [])
})

test('while the server is down an operator’s view says so, and it continues afterwards', async () => {
  const { page } = await operate('audit')
  await page.getByText('dataset.put').first().waitFor()
  await server.stop()
  await page.getByRole('link', { name: 'Datasets' }).click()
  await page.getByText('The server is not responding.').waitFor()
  await server.start()
  await page.getByRole('link', { name: 'video', exact: true }).waitFor()
  await until('the notice is gone', async () => (await page.locator('.trouble').innerText()) === '')
})
