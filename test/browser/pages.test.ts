import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleInBrowser } from './console-world.ts'

/** The public pages in a real browser: they load, the content policy blocks nothing, and "Try it" works. */
const { world, open } = await consoleInBrowser()

test('the welcome page says that the instance is ready and links to the reference', async () => {
  const { page, faults } = await open('/')
  await page.locator('.verdict').getByText('Ready', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Backfill and follow' }).click()
  await page.getByRole('heading', { name: 'Backfill and follow' }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'Open the API reference' }).click()
  await page.waitForURL('**/docs')
  assert.deepEqual(faults, [])
  assert.doesNotMatch(world.server.stderr, /Warning/, 'the log has no warnings of the runtime')
})

test('the reference lists every described operation, and a deep link opens one', async () => {
  const description = (await world.server.call('GET', '/openapi.json')).body as { paths: Record<string, object> }
  const { page, faults } = await open('/docs#changes.read')
  await page.getByRole('heading', { name: 'Read the change feed' }).waitFor()
  const listed = await page.locator('#groups a').count()
  const described = Object.values(description.paths).flatMap((methods) => Object.keys(methods)).length
  assert.ok(listed >= described, `${listed} links for ${described} operations`)
  await page.locator('#nav a[href="#changes.read"][aria-current]').waitFor()
  // The last section can be marked too, although nothing follows it.
  await page.setViewportSize({ width: 1280, height: 1600 })
  const last = page.locator('#groups a').last()
  await last.click()
  await page.locator(`#nav a[href="${await last.getAttribute('href')}"][aria-current]`).waitFor()
  assert.equal(await page.locator('#nav a[aria-current]').count(), 1)
  assert.deepEqual(faults, [])
})

test('the filter finds operations by a field or a text and says where; Enter goes to the operation of that name', async () => {
  const { page, faults } = await open('/docs')
  const filter = page.getByLabel('Filter by title, field or text')
  const link = (id: string) => page.locator(`#nav a[href="#${id}"]`)
  await filter.fill('cursor')
  await link('changes.read').getByText('cursor', { exact: true }).waitFor()
  assert.ok(!(await link('account.read').isVisible()))
  await filter.fill('long poll')
  assert.ok(await link('changes.read').getByText('wait', { exact: true }).isVisible())
  await filter.fill('xyzzy')
  await page.getByText('Nothing matches.').waitFor()
  await filter.fill('/v1/account')
  assert.equal(await link('account.read').locator('.nav-where').textContent(), '')
  await filter.press('Enter')
  await page.waitForURL('**/docs#account.read')
  await filter.fill('')
  assert.ok(await link('overview').isVisible())

  // A folded field is unfolded and marked, and its neighbours stay folded; also at a second click.
  const account = page.locator('[id="account.read"]')
  const folds = async (state: string) => account.locator(`details.fold${state}`).count()
  for (let round = 0; round < 2; round += 1) {
    await filter.fill('is_default')
    await link('account.read').click()
    await account.locator('.field.here > .field-head', { hasText: 'is_default' }).waitFor()
    await page.waitForURL('**/docs#account.read')
    assert.equal(await folds('[open]'), 1)
    assert.ok((await folds(':not([open])')) >= 3)
  }
  assert.deepEqual(faults, [])
})

test('a request is shown in three languages with the variable of its credential, and the choice applies to all', async () => {
  const { page, faults } = await open('/docs')
  const code = (id: string) => page.locator(`[id="${id}"] .side .snippet`).first()
  const shows = (id: string, text: string) => code(id).locator('pre').filter({ hasText: text }).waitFor()
  await shows('account.read', '-H "Authorization: Bearer $TIDEMARK_KEY"')
  await shows('collector.documents', 'Bearer $TIDEMARK_COLLECTOR_KEY')
  await shows('admin.datasets.list', 'Bearer $TIDEMARK_ADMIN_TOKEN')
  // IDs of another instance do not exist here, so there are placeholders.
  await shows('documents.read', '/v1/documents/DOCUMENT_ID ')
  await shows('documents.batchGet', '"DOCUMENT_ID"')
  await shows('analysis.artifacts.download', '/v1/analysis/runs/RUN_ID/artifacts/ARTIFACT_ID')
  const requests = await page.locator('.side-inner > .snippet:first-child pre').allTextContents()
  assert.ok(requests.length > 50)
  for (const text of requests) assert.doesNotMatch(text, /[a-z]_[0-9a-z]{26}/)
  // The default window is 24 hours, which may have no documents.
  for (const id of ['documents.browse', 'users.read', 'users.documents']) await shows(id, 'T00:00:00Z')
  await code('account.read').getByRole('button', { name: 'Python' }).click()
  await shows('account.read', 'os.environ["TIDEMARK_KEY"]')
  await shows('admin.datasets.list', 'os.environ["TIDEMARK_ADMIN_TOKEN"]')
  await page.reload()
  await shows('collector.documents', 'os.environ["TIDEMARK_COLLECTOR_KEY"]')
  await code('account.read').getByRole('button', { name: 'TypeScript' }).click()
  await shows('account.read', 'process.env.TIDEMARK_KEY')
  assert.deepEqual(faults, [])
})

test('the guides are part of the reference, have the address of this instance, and are found by the filter', async () => {
  const { page, faults } = await open('/docs#guide-backfill-and-follow')
  await page.getByRole('heading', { name: 'Backfill and follow' }).waitFor()
  for (const name of ['first-search', 'backfill-and-follow', 'entitlements', 'collectors']) {
    await page.locator(`#nav a[href="#guide-${name}"]`).waitFor()
    const code = await page.locator(`#guide-${name} pre`).first().textContent()
    assert.ok(code?.includes(world.address), `${name}: ${code}`)
  }
  await page.getByLabel('Filter by title, field or text').fill('never before after a crash')
  await page.locator('#nav a[href="#guide-backfill-and-follow"]').waitFor()
  assert.ok(!(await page.locator('#nav a[href="#guide-entitlements"]').isVisible()))
  assert.deepEqual(faults, [])
})

test('the reference has every error code with its status and what to do about it', async () => {
  type Described = { 'x-errors': { code: string; status: number; remedy: string }[]; components: { schemas: Schemas } }
  type Schemas = { Error: { properties: { code: { enum: string[] } } } }
  const described = (await world.server.call('GET', '/openapi.json')).body as Described
  const { page, faults } = await open('/docs#error-cursor_expired')
  await page.locator('[id="error-cursor_expired"].here').waitFor()
  const rows = await page.locator('table.errors tbody tr').allTextContents()
  const codes = described['x-errors'].map(({ code }) => code)
  assert.deepEqual(codes.toSorted(), described.components.schemas.Error.properties.code.enum.toSorted())
  assert.equal(rows.length, codes.length)
  for (const [i, { code, status, remedy }] of described['x-errors'].entries()) {
    assert.ok(rows[i]!.startsWith(`${status}${code}${remedy.replaceAll('`', '')}`), `the row of ${code}`)
  }
  await page.getByLabel('Filter by title, field or text').fill('cursor_expired')
  assert.ok(await page.locator('#nav a[href="#errors"]').isVisible())
  assert.deepEqual(faults, [])
})

test('"Try it" sends a request with the typed key and shows the response', async () => {
  const { page, faults } = await open('/docs#account.read')
  const operation = page.locator('section, article').filter({ hasText: 'GET/v1/account' }).last()
  await operation.getByText('Try it').click()
  await page.locator('[id="try-account.read-key"]').fill(world.key)
  await page
    .locator('form')
    .filter({ has: page.locator('[id="try-account.read-key"]') })
    .getByRole('button', { name: 'Send request' })
    .click()
  await page.getByText('"application_id"').first().waitFor()
  assert.deepEqual(faults, [])
})

test('an unknown address gives a browser a page and other clients JSON; both are 404', async () => {
  const { page, faults } = await open('/nowhere?x=1')
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  // The browser reports the status once. Any other error is a fault of the page.
  assert.equal(faults.length, 1, faults.join('\n'))
  assert.match(faults[0]!, /status of 404/)
  await page.getByRole('link', { name: 'Open the API reference' }).click()
  await page.waitForURL('**/docs')

  const request = async (accept: string, method = 'GET', path = '/nowhere') => {
    const answer = await fetch(`${world.address}${path}`, { method, headers: { accept } })
    const type = answer.headers.get('content-type')?.split(';')[0]
    assert.match(answer.headers.get('vary') ?? '', /\baccept\b/i)
    assert.ok(answer.headers.get('x-request-id'))
    return [answer.status, type]
  }
  const html = [404, 'text/html']
  const json = [404, 'application/json']
  assert.deepEqual(await request('text/html,application/xhtml+xml,*/*;q=0.8'), html)
  assert.deepEqual(await request('text/html', 'HEAD'), html)
  for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.5', 'text/plain']) {
    assert.deepEqual(await request(accept), json, accept)
  }
  assert.deepEqual(await request('text/html', 'POST'), json)
  // A browser gets the same page for a badly encoded address.
  for (const path of ['/documents/%E0%A4%A', '/search?q=%ff', '/documents/a%00b']) {
    assert.deepEqual(await request('text/html', 'GET', path), html, path)
    assert.deepEqual(await request('*/*', 'GET', path), [400, 'application/json'], path)
  }
  // Only the modules and styles of a library are served.
  const statusOf = async (file: string) => (await fetch(`${world.address}/assets/packages/preact/${file}`)).status
  assert.equal(await statusOf('dist/preact.mjs'), 200)
  for (const file of ['package.json', 'dist/..%2Fpackage.json', 'src/index.js', '%2E%2E/fastify/fastify.js']) {
    assert.equal(await statusOf(file), 404, file)
  }
  assert.deepEqual(await request('text/html', 'GET', '/v1/search'), [405, 'application/json'])
})

test('nothing overflows a phone', async () => {
  for (const path of ['/', '/docs', '/sign-in', '/nowhere']) {
    const { page } = await open(path, { width: 390 })
    await page.waitForLoadState('networkidle')
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.ok(Number(overflow) <= 0, `${path} is ${overflow} px too wide`)
  }
})

test('the page for unknown addresses has a header, margins, and the chosen theme', async () => {
  for (const width of [390, 1280]) {
    const { page } = await open('/nowhere', { width, expected: /status of 404/ })
    const boxOf = async (selector: string) => {
      const box = await page.locator(selector).boundingBox()
      assert.ok(box, selector)
      return box
    }
    const header = await boxOf('header')
    assert.ok(header.height >= 40, `at ${width} px the header is ${header.height} px high`)
    const [brand, link] = [await boxOf('header .brand'), await boxOf('header a:last-child')]
    assert.ok(brand.y >= 0 && brand.y + brand.height <= header.height, 'the name is within the header')
    assert.ok(link.x + link.width <= width - 12)
    for (const part of ['h1', '.lead', '.actions']) {
      const { x, y, width: wide } = await boxOf(part)
      assert.ok(x >= 12 && x + wide <= width - 12, `${part} at ${width} px: from ${x} to ${x + wide}`)
      assert.ok(y > header.height, part)
    }
    const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.equal(over, 0)
    await page.evaluate(`localStorage.setItem('tidemark.theme', 'dark')`)
    await page.reload()
    assert.equal(await page.evaluate('getComputedStyle(document.documentElement).colorScheme'), 'dark')
    await page.evaluate('localStorage.clear()')
  }
})
