import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { adminToken } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'
import { consoleInBrowser } from './console-world.ts'
import { seriousInBothThemes } from './serious-findings.ts'

/** The frame of the console in a real browser: signing in and out, errors on the way, and accessibility. */
const { world, browser, open } = await consoleInBrowser()

/** Matches the error that a browser reports for a response with this status. */
const statusError = (status: number): RegExp => new RegExp(`status of ${status}`)

async function signIn(page: Page, secret: string): Promise<void> {
  await page.getByLabel(/^(Application key|Admin token)/).fill(secret)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

test('a key signs in, is kept as long as the tab, is in no address, and is removed at sign-out; an invalid one is refused', async () => {
  const { page, faults } = await open('/account?from=here', { expected: statusError(401) })
  await signIn(page, 'tmc_0000000000000000000000000000000000000000')
  await page.getByText('This key is not valid.').waitFor()
  await signIn(page, world.collectorKey)
  await page.getByText('This is a collector key').waitFor()
  await signIn(page, adminToken)
  await page.getByText('This page needs an application key, which begins with tmc_').waitFor()
  await signIn(page, 'schlüssel')
  await page.getByText('A key has only ASCII characters').waitFor()
  assert.equal(await page.evaluate('sessionStorage.length'), 0)
  await signIn(page, world.key)
  await page.getByRole('heading', { name: 'Sample reader' }).waitFor()
  assert.equal(page.url(), `${world.address}/account?from=here`)
  await page.reload()
  await page.getByText('Documents of the datasets news, community and video').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  const kept = await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')
  assert.ok(!String(kept).includes(world.key))
  assert.deepEqual(faults, [])
})

test('the admin token signs in too, and the reference sends it', async () => {
  const { page, faults } = await open('/sign-in')
  await signIn(page, adminToken)
  await page.getByRole('heading', { name: 'What needs attention' }).waitFor()
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'API reference' }).click()
  await page.getByText('Keys set: 1 of 3').waitFor()
  for (const path of ['/search', '/documents', '/changes', '/analysis']) {
    await page.goto(`${world.address}${path}`)
    await page.getByText('You are signed in as an administrator. This page needs an application key.').waitFor()
    await page.getByRole('link', { name: 'Create one under Applications.' }).waitFor()
  }
  assert.deepEqual(faults, [])
})

test('an unknown code signs nobody in, and does not stay in the address', async () => {
  const { page } = await open('/sign-in#used', { expected: statusError(401) })
  await page.getByText('This sign-in link was already used').waitFor()
  assert.equal(page.url(), `${world.address}/sign-in`)
})

test('after a key is revoked, the reader signs in again and stays on the page', async () => {
  const { key, keyId } = await world.server.makeKey(world.applicationId)
  const { page, faults } = await open('/account', { key, expected: statusError(401) })
  await page.getByRole('heading', { name: 'Why can’t I see it?' }).waitFor()
  // The frame also reads the account, and must not be refused before the ID is typed.
  await page.waitForLoadState('networkidle')
  await world.server.mustAdmin('POST', `/admin/v1/keys/${keyId}/revoke`)
  await page.getByLabel('Document id').fill('doc_x')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText('This key no longer works').waitFor()
  assert.deepEqual(await seriousInBothThemes(page, ['main']), [])
  await signIn(page, world.key)
  await page.getByRole('heading', { name: 'Why can’t I see it?' }).waitFor()
  assert.deepEqual(faults, [])
})

test('the account lists the conditions for a document, entry by entry, and not whether it exists', async () => {
  const { key } = await world.server.makeApplication({
    name: 'Two windows',
    policy: { daily_quotas: { search: 10 } },
    entitlements: [
      { datasets: ['news'], languages: ['en'] },
      { datasets: ['video'], published_from: '2026-11-01T00:00:00Z' },
    ],
  })
  const listed = await world.server.consumer(world.key, 'POST', '/v1/search', {
    query: 'harbour',
    datasets: ['community'],
  })
  const { page, faults } = await open('/account', { key, expected: statusError(404) })
  await page.getByText('0 of 10 today').waitFor()
  const check = async (id: string): Promise<string> => {
    const responded = page.waitForResponse((answer) => answer.url().includes('/v1/documents/'))
    await page.getByLabel('Document id').fill(id)
    await page.getByRole('button', { name: 'Check' }).click()
    await responded
    await page.getByText('Entry 2').waitFor()
    return page.locator('.why [role="status"]').innerText()
  }
  const hidden = await check(listed.body.results[0].document_id)
  assert.deepEqual(await seriousInBothThemes(page, ['main']), [])
  assert.match(
    hidden,
    /its dataset is news[\s\S]*its language is en[\s\S]*it was published at 2026-11-01T00:00:00\.?0*Z or later/,
  )
  assert.equal(await check('doc_that_never_was'), hidden)
  // The result for one document disappears when another ID is typed.
  await page.getByLabel('Document id').fill('')
  await until('the result has disappeared', async () => (await page.locator('.why [role="status"]').innerText()) === '')
  assert.deepEqual(faults, [])
})

test('after too many requests the wait is shown, and the request is sent again', async () => {
  const { key } = await world.server.makeApplication({
    name: 'Slow reader',
    policy: { requests_per_second: 1, burst: 1 },
    entitlements: [{ datasets: ['news'] }],
  })
  const { page, faults } = await open('/account', { expected: /status of (429|404)/ })
  await page.evaluate(`{
    window.shown = []
    const trouble = document.querySelector('.trouble')
    new MutationObserver(() => window.shown.push(trouble.textContent)).observe(trouble, { subtree: true, childList: true, characterData: true })
  }`)
  await signIn(page, key)
  await page.getByRole('heading', { name: 'Slow reader' }).waitFor()
  await page.getByLabel('Document id').fill('doc_x')
  // However slow the browser is, it sends more than one request per second sooner or later.
  await until('the wait was shown', async () => {
    await page.getByRole('button', { name: 'Check' }).click()
    return ((await page.evaluate('window.shown')) as string[]).some((text) =>
      /^Too many requests\. Continuing in \d+ s\.$/.test(text),
    )
  })
  await page.getByText('Not found:').waitFor()
  await until('the wait is over', async () => (await page.locator('.trouble').innerText()) === '')
  assert.deepEqual(faults, [])
})

test('while the server is down the page polls it, and then continues', async () => {
  const { page } = await open('/account', { key: world.key })
  await page.getByRole('heading', { name: 'Why can’t I see it?' }).waitFor()
  const { page: other } = await open('/account', { key: world.key })
  await other.getByRole('heading', { name: 'Why can’t I see it?' }).waitFor()
  await world.server.stop()
  // The code of a view that was not open before cannot even be loaded.
  await other.getByRole('link', { name: 'Documents', exact: true }).click()
  await other.getByText('The server is not responding.').waitFor()
  await other.getByRole('heading', { name: 'Documents', exact: true }).waitFor()
  await other.getByText('Waiting for the server …').waitFor()
  await page.getByLabel('Document id').fill('doc_x')
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText('The server is not responding.').waitFor()
  await world.server.start()
  await page.getByText('Not found:').waitFor()
  await other.getByText(/^\d+ documents( so far)?, newest first/).waitFor()
  await until('the notice is gone', async () => (await page.locator('.trouble').innerText()) === '')
})

test('while the server is down no page shows empty data, and each continues when it is back', async () => {
  const [search, documents, changes, analysis] = await Promise.all(
    ['/search?q=xyzzyqq', '/documents', '/changes', '/analysis'].map(
      async (path) => (await open(path, { key: world.key })).page,
    ),
  )
  assert.ok(search && documents && changes && analysis)
  await search.getByText('Nothing found.').waitFor()
  await documents.getByText('Scroll for more.').waitFor()
  await changes.getByText('Waiting for new events').waitFor()
  await analysis.getByRole('button', { name: 'Start' }).waitFor()
  await world.server.stop()
  // The page cannot know whether a run was started. It says where to look, and reads the list again.
  await analysis.getByRole('button', { name: 'Start' }).click()
  await analysis.getByText('Check the list of runs before you start it again.').waitFor()
  const listed = analysis.waitForResponse((answer) => answer.ok() && answer.url().endsWith('/v1/analysis/runs'))
  await search.getByRole('searchbox', { name: 'Search' }).fill('tidal power')
  await search.locator('.summary', { hasText: /^Waiting for the server …$/ }).waitFor()
  await changes.getByText(/^Waiting for the server … \d+ events$/).waitFor()
  await documents.getByRole('group', { name: 'Dataset' }).getByLabel('news').check()
  await documents.locator('.summary', { hasText: /^Waiting for the server …$/ }).waitFor()
  // The message stays visible wherever the reader has scrolled.
  await changes.mouse.wheel(0, 3_000)
  await until('the page has scrolled', async () => Number(await changes.evaluate('scrollY')) > 1_000)
  const banner = await changes.getByText('The server is not responding.').boundingBox()
  assert.ok(banner && banner.y >= 0 && banner.y < 100, JSON.stringify(banner))
  await world.server.start()
  await search.locator('.result').first().waitFor()
  await listed
  await documents.getByText(/^\d+ documents( so far)?, newest first/).waitFor()
  await changes.getByText('Waiting for new events').waitFor()
})

const updated = await world.server.consumer(world.key, 'POST', '/v1/search', { query: 'ferry crews begin strike' })

/** The reference is very long, so only one of each kind of part is checked. */
const parts = ['.rail', '#nav', '#overview', '[id="changes.read"]', '#errors']

const views: readonly (readonly [path: string, shown: string | RegExp, parts?: readonly string[]])[] = [
  ['/', 'Three requests to try'],
  ['/account', 'Why can’t I see it?'],
  ['/docs', 'Read the change feed', parts],
  ['/search?q=tidel+power', 'No matches for “tidel”'],
  ['/operate/overview', 'of the process that answered'],
  ['/operate/applications', 'Sample reader'],
  ['/operate/datasets?dataset=news', 'Classifications of news'],
  ['/operate/collectors?all=1', 'Collector keys'],
  ['/operate/audit', 'dataset.put'],
  [`/operate/applications/${world.applicationId}`, 'May use analysis'],
  ['/operate/erasures', 'Erase documents'],
  ['/operate/runs?all=1', 'Include finished ones'],
  ['/operate/usage', /No requests in this period|Requests by day/],
  ['/operate/administrators', 'New administrator'],
  ['/changes', 'Waiting for new events'],
  ['/documents', 'newest first'],
  [`/documents/${updated.body.results[0].document_id}`, 'Correction: an earlier version'],
  ['/analysis', 'What to find'],
  ['/analysis/subscriptions', 'Subscriptions'],
]

test('in every view axe finds nothing serious in light and dark, and nothing overflows a phone', async () => {
  // Opening a page is expensive, so each credential has one page that goes from view to view.
  const reader = await open('/', { key: world.key })
  const operator = await open('/', { key: adminToken })
  for (const [path, shown, selectors = ['html']] of views) {
    const { page, faults } = path.startsWith('/operate/') ? operator : reader
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.goto(`${world.address}${path}`)
    await page.getByText(shown).first().waitFor()
    assert.deepEqual(await seriousInBothThemes(page, selectors), [], path)
    await page.setViewportSize({ width: 390, height: 844 })
    const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.ok(Number(over) <= 0, `${path} is ${over} px too wide for a phone`)
    assert.deepEqual(faults, [], path)
  }
})

test('the theme can be chosen, and is kept', async () => {
  const { page } = await open('/')
  await page.emulateMedia({ colorScheme: 'light' })
  const scheme = () => page.evaluate('getComputedStyle(document.documentElement).colorScheme')
  const next = page.getByRole('button', { name: 'Colours' })
  await next.click()
  assert.equal(await scheme(), 'light')
  await next.click()
  assert.equal(await scheme(), 'dark')
  await page.reload()
  assert.equal(await scheme(), 'dark')
  await next.click()
  assert.equal(await scheme(), 'light dark')
})

test('the first view weighs less than 250 KB, and no script but the import map is inline', async () => {
  const fresh = await browser.newContext()
  const page = await fresh.newPage()
  const first = await page.goto(`${world.address}/`)
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  const html = await first!.text()
  const entries = 'performance.getEntries().map(({ decodedBodySize }) => decodedBodySize ?? 0)'
  const weight = ((await page.evaluate(entries)) as number[]).reduce((sum, size) => sum + size, 0)
  assert.ok(weight > 50_000, 'the loaded files are counted')
  console.log(`the first view weighs ${weight} bytes`)
  assert.ok(weight < 250_000, `${weight} bytes`)
  // The page has a preload link for every module, so no module is discovered only when another has been read.
  const late = '[...performance.getEntriesByType("resource")].map(({ name }) => new URL(name).pathname)'
  const named = html.matchAll(/<(?:link rel="modulepreload" href|script src)="([^"]+)"/g)
  const announced = new Set([...named].map(([, path]) => path))
  const modules = ((await page.evaluate(late)) as string[]).filter((path) => path.endsWith('.ts'))
  assert.ok(modules.includes('/assets/welcome/welcome-view.ts'))
  assert.deepEqual(
    modules.filter((path) => !announced.has(path)),
    [],
  )
  const policy = first!.headers()['content-security-policy']!
  assert.match(policy, /script-src 'self' 'sha256-[\w+/]+='; style-src 'self';/)
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  assert.equal(html.match(/<script(?![^>]*\bsrc=)/g)?.length, 1)
  assert.doesNotMatch(html, /\sstyle=|\son\w+=/)
  await fresh.close()
})
