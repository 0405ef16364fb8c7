import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../support/until.ts'
import { consoleInBrowser } from './console-world.ts'
import { seriousInBothThemes } from './serious-findings.ts'

/** Searching in a real browser, on the sample, and documents with hostile content. */
const { world, open: openPage } = await consoleInBrowser()

const open = (path: string, key = world.key) => openPage(path, { key })
const titles = (page: Page) => page.locator('.result .title')

test('results appear while typing, corrected and marked; the address holds the whole search', async () => {
  const { page, faults } = await open('/search')
  await page.getByRole('button', { name: 'ferries', exact: true }).waitFor()
  await page.keyboard.type('tidal pow')
  await titles(page).filter({ hasText: 'Tidal power array in the Corrow Narrows' }).waitFor()
  await page.locator('mark', { hasText: 'power' }).first().waitFor()
  await page.getByRole('searchbox', { name: 'Search' }).fill('tidel power')
  await page.getByText('No matches for “tidel”. Showing results for “tide”').waitFor()
  assert.equal(new URL(page.url()).search, '?q=tidel+power')

  // The keyboard moves from the query to the results and back.
  await page.keyboard.press('ArrowDown')
  assert.equal(await page.evaluate('document.activeElement === document.querySelector(".result .title")'), true)
  await page.keyboard.press('Escape')
  assert.equal(await page.evaluate('document.activeElement.id'), 'query')

  await page.getByRole('button', { name: 'Code' }).click()
  await page.getByRole('button', { name: 'Python' }).click()
  const code = await page.locator('.as-code pre').innerText()
  assert.match(code, /"query": "tidel power"/)
  assert.match(code, /os\.environ\["TIDEMARK_KEY"\]/)
  assert.ok(!code.includes(world.key) && !page.url().includes(world.key))
  await page.locator('.score summary').first().click()
  await page.locator('.score-parts li').first().waitFor()
  assert.deepEqual(await seriousInBothThemes(page, ['main']), [])
  await page.getByRole('button', { name: 'Python' }).focus()
  await page.keyboard.press('Escape')
  await page.locator('.as-code pre').waitFor({ state: 'detached' })
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Code')
  assert.deepEqual(faults, [])
})

test('facets, days and modes change the results; "back" restores them', async () => {
  const { page, faults } = await open('/search?q=the')
  const facet = (name: string) => page.getByRole('group', { name, exact: true })
  await page.getByText(/^20 of \d+ documents$/).waitFor()
  await page.getByRole('button', { name: 'More results' }).click()
  await page.getByText(/^40 of \d+ documents$/).waitFor()

  // Returning from a result of the second page restores the loaded pages, the scroll position, and the focus.
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const result = titles(page).nth(33)
  await result.focus()
  const [href, top] = [await result.getAttribute('href'), Number(await page.evaluate('scrollY'))]
  assert.ok(top > 1_000)
  const sent: string[] = []
  page.on('request', (request) => sent.push(request.postData() ?? ''))
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'About' }).waitFor()
  await page.goBack()
  await page.getByText(/^40 of \d+ documents$/).waitFor()
  assert.equal(await page.evaluate('document.activeElement.getAttribute("href")'), href)
  assert.equal(await page.evaluate('scrollY'), top)
  assert.ok(!sent.some((body) => body.includes('"query":"the"')), 'the search is not repeated')
  await facet('Dataset').getByLabel('community').check()
  await page.getByRole('button', { name: 'Dataset: community' }).waitFor()
  await until('all results are of the dataset community', async () => {
    const facts = await page.locator('.result-facts').allInnerTexts()
    return facts.length > 0 && facts.every((text) => text.startsWith('community'))
  })
  await page.locator('.bars button:enabled').first().click()
  await page.getByRole('button', { name: /^Published from/ }).waitFor()
  const { searchParams } = new URL(page.url())
  assert.equal(searchParams.get('datasets'), 'community')
  assert.equal(Date.parse(searchParams.get('to')!) - Date.parse(searchParams.get('from')!), 86_400_000)
  await page.reload()
  await page.getByRole('button', { name: /^Published from/ }).click()
  await page.getByText('Both', { exact: true }).click()
  await page.getByText('Counts cover only the best matches').waitFor()
  assert.equal(await facet('Topic').count(), 0, 'filters of keyword search are not offered')
  await page.goBack()
  await facet('Topic').waitFor()
  assert.deepEqual(faults, [])
})

const harm = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'

test('texts of documents are never markup, and only http and https URLs are links', async () => {
  const { server } = world
  await server.makeDataset('hostile')
  const { key } = await server.makeApplication({ name: harm, entitlements: [{ datasets: ['hostile'] }] })
  const document = {
    dataset_id: 'hostile',
    source_platform: '"><img/src=x/onerror=alert(1)>',
    external_id: 'a',
    title: `squall ${harm}`,
    body: `squall ${harm} &lt;b&gt;`,
    url: 'javascript:window.harmed=1',
    author: { external_author_id: 'x', nickname: harm },
    topics: [harm, 'Ports, ferries'],
    tags: [harm],
    published_at: '2026-11-01T00:00:00Z',
  }
  const hebrew = {
    dataset_id: 'hostile',
    source_platform: 'rss',
    external_id: 'b',
    title: 'סערה בנמל',
    body: 'סערה squall',
    published_at: '9999-01-01T00:00:00Z',
  }
  const sent = await server.collector(world.collectorKey, 'POST', '/collector/v1/documents', {
    documents: [document, hebrew],
  })
  assert.deepEqual(
    sent.body.results.map(({ outcome }: { outcome: string }) => outcome),
    ['created', 'created'],
    sent.text,
  )
  await until('both are found', async () => {
    const { body } = await server.consumer(key, 'POST', '/v1/search', { query: 'squall' })
    return body.results?.length === 2
  })
  const { page, faults } = await open(`/search?q=${encodeURIComponent('squall <em>')}`, key)
  await titles(page).filter({ hasText: harm }).waitFor()
  await page.locator('.result-text', { hasText: '&lt;b&gt;' }).waitFor()
  assert.equal(await page.locator('main img, main script').count(), 0)
  assert.equal(await page.locator('a[href^="javascript"]').count(), 0)
  assert.equal(await page.evaluate('window.harmed'), undefined)
  await page.goto(`${world.address}/search?q=squall&topics=${encodeURIComponent(harm)}`)
  await page.getByRole('button', { name: `Topic: ${harm}` }).waitFor()
  assert.equal(await page.evaluate('window.harmed'), undefined)
  // A value with a comma is one value.
  await page.getByRole('button', { name: `Topic: ${harm}` }).click()
  await page.getByRole('group', { name: 'Topic' }).getByLabel('Ports, ferries').check()
  await page.getByRole('button', { name: 'Topic: Ports, ferries' }).waitFor()
  await page.getByText('1 document', { exact: true }).waitFor()
  // A name of any length leaves room for the button that signs out.
  const [leave, rail] = await Promise.all(
    ['.rail .who svg', '.rail'].map(async (part) => (await page.locator(part).boundingBox())!),
  )
  assert.ok(leave!.x + leave!.width <= rail!.x + rail!.width, 'the icon is within the rail')
  assert.deepEqual(faults, [])

  // A document published long after all others is counted beside the bars, and the count narrows the search.
  await page.goto(`${world.address}/search?q=squall`)
  await page.getByRole('button', { name: 'Nov 1, 2026: 1 document', exact: true }).waitFor()
  await page.getByRole('button', { name: '1 after' }).click()
  await page.getByRole('button', { name: 'Published from Dec 1, 2026' }).waitFor()
  await page.getByText('1 document', { exact: true }).waitFor()

  await page.goto(`${world.address}/search?q=${encodeURIComponent('סערה')}`)
  const title = titles(page).filter({ hasText: 'סערה בנמל' })
  await title.waitFor()
  assert.equal(await page.evaluate('getComputedStyle(document.querySelector(".result h2")).direction'), 'rtl')
})

test('a word of any length stays within its box, in every view, on a desktop and on a phone', async () => {
  const { server } = world
  await server.makeDataset('long-words')
  const word = (letter: string, length = 300): string => letter.repeat(length)
  const name = word('A', 100)
  const { key } = await server.makeApplication({ name, entitlements: [{ datasets: ['long-words'] }] })
  const document = {
    dataset_id: 'long-words',
    source_platform: word('p', 64),
    external_id: word('x', 200),
    title: `schooner ${word('t')}`,
    body: `schooner ${word('w')} ${word('v')}`,
    author: { external_author_id: word('a', 100), nickname: word('n', 200), biography: word('b') },
    topics: [word('o', 100)],
    tags: [word('g', 100)],
    metrics: { [word('m', 64)]: 1 },
  }
  const documents = [document, { ...document, external_id: 'other', title: 'schooner '.repeat(200) }]
  const sent = await server.collector(world.collectorKey, 'POST', '/collector/v1/documents', { documents })
  assert.ok(
    sent.body.results.every(({ outcome }: { outcome: string }) => outcome === 'created'),
    sent.text,
  )
  await until('both are found', async () => {
    const { body } = await server.consumer(key, 'POST', '/v1/search', { query: 'schooner' })
    return body.results?.length === 2
  })
  const { page, faults } = await openPage('/search?q=schooner', { key, expected: /status of 40[04]/ })
  const views = [
    [`/search?q=schooner&topics=${word('o', 100)}`, '.result'],
    [`/documents?tags=${word('g', 100)}`, '.document-row'],
    [`/documents/${sent.body.results[0].document_id}`, '.document-aside'],
    [`/documents/${word('d', 200)}`, '[role="alert"]'],
    ['/changes', '.change'],
    ['/account', '.why'],
  ] as const
  for (const [path, shown] of views) {
    await page.goto(`${world.address}${path}`)
    await page.locator(shown).first().waitFor()
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      const over = await page.evaluate(`[...document.querySelectorAll('html, .card, .result, .chip, .notice, li')]
        .filter((part) => part.scrollWidth > part.clientWidth + 1)
        .filter((part) => part.tagName === 'HTML' || getComputedStyle(part).overflowX === 'visible')
        .filter((part) => getComputedStyle(part).display !== 'inline')
        .map((part) => part.tagName + '.' + part.className)`)
      assert.deepEqual(over, [], `${path.slice(0, 20)} at ${width}`)
    }
  }
  assert.deepEqual(faults, [])
})

test('on a phone in landscape the bars scroll away and leave their height to the results', async () => {
  const { page, faults } = await open('/search?q=ferry')
  await page.setViewportSize({ width: 844, height: 390 })
  await titles(page).nth(8).scrollIntoViewIfNeeded()
  for (const bar of [page.getByRole('banner'), page.getByRole('navigation', { name: 'Views' })]) {
    const box = await bar.boundingBox()
    assert.ok(box !== null && box.y + box.height <= 0, `it stays at ${JSON.stringify(box)}`)
  }
  assert.deepEqual(faults, [])
})

test('an error message of the server is shown as text', async () => {
  const { page } = await openPage(`/search?q=tide&languages=${encodeURIComponent('<img src=x>')}`, {
    key: world.key,
    expected: /status of 400/,
  })
  const alert = page.getByRole('alert')
  await alert.waitFor()
  assert.match(await alert.innerText(), /^Languages must be an ISO 639-1 code, .* not "<img src=x>"\.$/)
  assert.equal(await page.locator('main img').count(), 0)
})

test('without results, a dataset and platforms for live collection can still be chosen', async () => {
  for (const width of [1280, 390]) {
    const { page, faults } = await openPage('/search?q=zzzqqxx', { key: world.key, width })
    await page.getByText('Nothing found. Try another word or another kind of search.').waitFor()
    await page.getByText('To collect live, choose one dataset in the filters.').waitFor()
    if (width < 960) await page.getByText('Filters', { exact: true }).click()
    await page.getByRole('group', { name: 'Dataset' }).getByLabel('community').check()
    await page.getByText('To collect live, choose one to five platforms in the filters.').waitFor()
    await page.getByText('Nothing found. Try another word, fewer filters or another kind of search.').waitFor()
    await page.getByRole('group', { name: 'Platform' }).getByLabel('forum').check()
    await page.getByText('To collect live').waitFor({ state: 'detached' })
    assert.ok(await page.getByRole('button', { name: 'Collect live' }).isEnabled())
    assert.deepEqual(faults, [])
  }
})

test('live collection is started, polled to its end, and shows the new documents', async () => {
  const { server } = world
  // Live queries need a collector, which the server knows by its requests for tasks.
  await server.collector(world.collectorKey, 'POST', '/collector/v1/tasks/lease', { platforms: ['forum'] })
  const { page, faults } = await open('/search?q=seiche&datasets=community&platforms=forum')
  await page.getByRole('button', { name: 'Collect live' }).click()
  let task: { task_id: string } | undefined
  await until('a collector has the task', async () => {
    const leased = await server.collector(world.collectorKey, 'POST', '/collector/v1/tasks/lease', {
      platforms: ['forum'],
    })
    task = leased.body.tasks[0]
    return task !== undefined
  })
  const path = `/collector/v1/tasks/${task!.task_id}`
  const documents = [
    { external_id: 'live-1', title: 'A seiche in the inner harbour', body: 'The seiche came at noon.' },
  ]
  const sent = await server.collector(world.collectorKey, 'POST', `${path}/documents`, { documents })
  assert.equal(sent.status, 200, sent.text)
  await server.collector(world.collectorKey, 'POST', `${path}/complete`, { status: 'succeeded' })
  await page.getByText('Done: 1 document.').waitFor()
  await page.locator('.live-top-up .title', { hasText: 'A seiche in the inner harbour' }).waitFor()
  assert.deepEqual(faults, [])
})
