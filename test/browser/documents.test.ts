import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { until } from '../support/until.ts'
import { consoleInBrowser } from './console-world.ts'

/** Browsing and reading documents in a real browser, on the sample, and documents with hostile content. */
const { world, open: openPage } = await consoleInBrowser()
const open = (path: string, key = world.key) => openPage(path, { key })
const rows = (page: Page) => page.locator('.document-row')

/** Returns the ID of the first document that a search finds. */
async function idOf(query: string): Promise<string> {
  const { body } = await world.server.consumer(world.key, 'POST', '/v1/search', { query, limit: 1 })
  return body.results[0].document_id
}

test('the list loads more while scrolling, down to the oldest document, and draws only a few rows', async () => {
  const { page, faults } = await open('/documents')
  await rows(page).first().waitFor()
  const summary = page.locator('.summary')
  await until('everything was read', async () => {
    await page.mouse.wheel(0, 20_000)
    return /^\d+ documents, newest first$/.test(await summary.innerText())
  })
  const count = Number(/^\d+/.exec(await summary.innerText())![0])
  assert.ok(count >= 323, `${count} documents`)
  assert.ok((await rows(page).count()) < 100, 'only visible rows are drawn')
  await until('the last row is visible', async () => {
    await page.mouse.wheel(0, 20_000)
    return (await page.locator(`li[aria-posinset="${count}"]`).count()) === 1
  })
  // The keyboard moves from row to row, and into a document and back.
  await page.locator(`li[aria-posinset="${count}"] a`).focus()
  await page.keyboard.press('ArrowUp')
  assert.equal(await page.evaluate('document.activeElement.closest("li").ariaPosInSet'), String(count - 1))
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/documents\/doc_/)
  await page.goBack()
  // The loaded rows and the reader's position are restored.
  await until('the row of the document has the focus', async () => {
    const at = await page.evaluate('document.activeElement.closest("li")?.ariaPosInSet')
    return at === String(count - 1)
  })
  await page.getByText(`${count} documents, newest first`, { exact: true }).waitFor()
  // A link opens the list at its beginning.
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Search' }).click()
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Documents' }).click()
  await page.locator('li[aria-posinset="1"]').waitFor()
  assert.equal(await page.evaluate('scrollY'), 0)
  assert.deepEqual(faults, [])
})

test('a list of ten thousand rows draws only the visible ones', async () => {
  const { page, faults } = await open('/documents')
  await rows(page).first().waitFor()
  await page.evaluate(`(async () => {
    const { h, render } = await import('preact')
    const { WindowList } = await import('/assets/shared/window-list.ts')
    const items = Array.from({ length: 10000 }, (_, i) => 'row ' + i)
    const row = (text) => h('a', { href: '#' }, text)
    const root = document.createElement('div')
    root.id = 'long'
    root.className = 'view-documents'
    document.body.replaceChildren(root)
    render(h(WindowList, { label: 'Long', items, rowRem: 4, keyOf: (text) => text, row, isOpenEnded: false }), root)
  })()`)
  const long = page.locator('#long li')
  for (const at of [0, 5_000, 9_999]) {
    await page.evaluate(`scrollTo(0, ${at} * 64)`)
    await page.getByText(`row ${at}`, { exact: true }).waitFor()
    assert.ok((await long.count()) < 60, `${await long.count()} rows at ${at}`)
  }
  assert.deepEqual(faults, [])
})

test('filters narrow the list, are in the address, and can be removed; a document is found by its ID', async () => {
  const { page, faults } = await open('/documents')
  const facet = (name: string) => page.getByRole('group', { name, exact: true })
  await facet('Dataset').getByLabel('news').check()
  await page.getByRole('button', { name: 'Dataset: news' }).waitFor()
  await facet('Classification').getByLabel('energy').check()
  await facet('Score').getByLabel('At least').fill('10')
  await facet('Score').getByLabel('At least').press('Enter')
  await facet('Published').getByLabel('To').fill('2026-11-10')
  await page.getByRole('button', { name: 'Published until Nov 10, 2026' }).waitFor()
  assert.equal(new URL(page.url()).search, '?dataset=news&classifications=energy&score_min=10&to=2026-11-10')
  const query = new URLSearchParams({
    dataset_id: 'news',
    classification_codes: 'energy',
    score_min: '10',
    published_to: '2026-11-11T00:00:00Z',
    created_from: new Date(Date.now() - 86_400_000).toISOString(),
    limit: '200',
  })
  const { body } = await world.server.consumer(world.key, 'GET', `/v1/documents/browse?${query}`)
  assert.ok(body.documents.length > 0)
  await page.getByText(new RegExp(`^${body.documents.length} documents?, newest first$`)).waitFor()
  const expected = body.documents.map(({ document }: { document: { title: string } }) => document.title)
  assert.deepEqual(await page.locator('.document-title').allInnerTexts(), expected)
  await page.getByRole('button', { name: 'Code' }).click()
  assert.match(await page.locator('.as-code pre').innerText(), /classification_codes=energy/)

  await page.getByRole('button', { name: 'Classification: energy' }).click()
  await until('the filter is removed', async () => !page.url().includes('energy'))
  const id = await idOf('Ferry crews begin three-day strike')
  await page.goto(`${world.address}/documents`)
  // Half-typed text is not lost while the list below loads.
  await page.getByLabel('Document ID or URL').fill(id)
  await page.getByText(/^\d+ documents( so far)?, newest first/).waitFor()
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByText('1 document, newest first').waitFor()
  await page.getByText('Ferry crews begin three-day strike on the Tarnsay crossing').waitFor()
  assert.deepEqual(faults, [])
})

test('a document opened from a search shows its changes, metrics, author and similar documents', async () => {
  const { page, faults } = await open('/search?q=ferry+crews+strike')
  await page.locator('.result .title', { hasText: 'Ferry crews begin three-day strike' }).click()
  await page.getByRole('heading', { name: 'Ferry crews begin three-day strike on the Tarnsay crossing' }).waitFor()
  const { id } = /\/documents\/(?<id>doc_\w+)$/.exec(page.url())!.groups!
  await page.locator('.difference del', { hasText: 'vote for a' }).waitFor()
  await page.locator('.difference ins', { hasText: 'Correction: an earlier version said' }).waitFor()
  await page
    .getByRole('img', { name: /^views: from 4,\d+ .* to 7,519 / })
    .locator('canvas')
    .waitFor()
  const about = page.getByRole('region', { name: 'About' })
  await about.getByRole('link', { name: 'transport' }).waitFor()
  const author = page.getByRole('region', { name: 'Author' })
  await author.getByText('8,432 followers').waitFor()
  await author.getByRole('link', { name: 'Ferry dispute settled: crews accept new winter roster' }).waitFor()
  const near = page.getByRole('region', { name: 'Similar documents' })
  await near.getByRole('link').first().waitFor()
  assert.equal(await near.locator(`a[href="/documents/${id}"]`).count(), 0, 'a document is not similar to itself')

  // Versions of the same time have different labels, and the address has the compared versions.
  const offered = await page.getByLabel('Before').locator('option').allInnerTexts()
  assert.deepEqual(
    offered.map((words) => words.split(':')[0]),
    offered.map((_, i) => String(offered.length - i)),
  )
  await page.getByLabel('Before').selectOption({ index: 0 })
  await page.getByText('Both versions have the same text.').waitFor()
  await page.reload()
  await page.getByText('Both versions have the same text.').waitFor()
  await author.getByRole('link', { name: 'All by this author' }).click()
  await page.getByRole('button', { name: /^Author: / }).waitFor()
  await until('all documents are by the author', async () => {
    const facts = await page.locator('.document-row .document-facts').allInnerTexts()
    return facts.length > 1 && facts.every((text) => text.includes('Inga Tolland'))
  })
  assert.deepEqual(faults, [])
})

test('a document that does not exist or may not be read is shown as not found', async () => {
  const { key } = await world.server.makeApplication({
    name: 'Titles only',
    entitlements: [{ datasets: ['news'], fields: ['title'] }],
  })
  const path = `/documents/${await idOf('Ferry crews begin three-day strike')}`
  const { page, faults } = await openPage(path, { key, expected: /status of 40[34]/ })
  await page.getByRole('heading', { name: 'Ferry crews begin three-day strike on the Tarnsay crossing' }).waitFor()
  await page.getByText('This application may not read the text of this document.').waitFor()
  // The section appears until the server refuses it, and then disappears.
  await page.getByRole('region', { name: 'Metrics' }).waitFor({ state: 'detached' })
  await page.goto(`${world.address}/documents/doc_that_never_was`)
  await page.getByRole('link', { name: 'Your account' }).waitFor()
  assert.deepEqual(faults, [])
})

const harm = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>'

test('texts of a document are never markup, have their own direction, and only http and https URLs are links', async () => {
  const { server } = world
  await server.makeDataset('hostile-documents')
  const { key } = await server.makeApplication({
    name: 'Reader of harm',
    entitlements: [{ datasets: ['hostile-documents'] }],
  })
  const document = {
    dataset_id: 'hostile-documents',
    source_platform: '"><img/src=x/onerror=alert(1)>',
    external_id: harm,
    title: `mistral ${harm}`,
    body: `mistral ${harm}\n&lt;b&gt;`,
    url: 'javascript:window.harmed=1',
    author: { external_author_id: 'x', nickname: harm, home_page: 'javascript:window.harmed=1', biography: harm },
    topics: [harm],
    tags: [harm],
    metrics: { [harm]: 1 },
    published_at: '2026-11-01T00:00:00Z',
  }
  const changed = { ...document, body: `sirocco ${harm}`, metrics: { [harm]: 2 }, observed_at: '2026-11-02T00:00:00Z' }
  const hebrew = {
    dataset_id: 'hostile-documents',
    source_platform: 'rss',
    external_id: 'b',
    title: 'סערה בנמל',
    thumbnail_url: 'https://pictures.example/storm.png',
    body: 'סערה גדולה',
  }
  const send = async (documents: readonly object[]): Promise<string[]> => {
    const sent = await server.collector(world.collectorKey, 'POST', '/collector/v1/documents', { documents })
    assert.equal(
      sent.body.results.every(({ error }: { error?: object }) => error === undefined),
      true,
      sent.text,
    )
    return sent.body.results.map(({ document_id }: { document_id: string }) => document_id)
  }
  const [harmful, rightToLeft] = await send([document, hebrew])
  await send([changed])
  const { page, faults } = await open(`/documents/${harmful}`, key)
  await page.locator('.difference ins', { hasText: 'sirocco' }).waitFor()
  await page.getByText(`mistral ${harm}`).first().waitFor()
  // The snapshot that arrived first has the later observation time.
  await page
    .getByRole('img', { name: /: from 2 on Nov 2, 2026 to 1 on / })
    .locator('canvas')
    .waitFor()
  assert.equal(await page.locator('main img, main script').count(), 0)
  assert.equal(await page.locator('a[href^="javascript"]').count(), 0)
  await page.goto(`${world.address}/documents?tags=${encodeURIComponent(harm)}`)
  await page.getByRole('button', { name: `Tag: ${harm}` }).waitFor()
  await rows(page).filter({ hasText: harm }).first().waitFor()
  assert.equal(await page.locator('main img, main script').count(), 0)
  assert.equal(await page.locator('a[href^="javascript"]').count(), 0)
  assert.equal(await page.evaluate('window.harmed'), undefined)
  await page.goto(`${world.address}/documents/${rightToLeft}`)
  await page.getByText('סערה גדולה').waitFor()
  // Pictures are links, because pages load none from other sites.
  const picture = page.getByRole('link', { name: 'Picture', exact: true })
  assert.equal(await picture.getAttribute('href'), hebrew.thumbnail_url)
  for (const selector of ['h1', '.document-text p']) {
    assert.equal(
      await page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).direction`),
      'rtl',
    )
  }
  for (const list of ['/documents?platforms=rss', `/search?q=${encodeURIComponent(hebrew.body)}`]) {
    await page.goto(`${world.address}${list}`)
    await picture.waitFor()
    assert.equal(await picture.getAttribute('href'), hebrew.thumbnail_url)
    assert.equal(await page.locator('main img').count(), 0)
  }
  assert.deepEqual(faults, [])
})

test('a document without a title is named by the start of its body, if the reader may read it', async () => {
  const { key } = await world.server.makeApplication({
    name: 'No texts',
    entitlements: [{ datasets: ['community'], fields: ['title', 'author'] }],
  })
  const title = (page: Page) => page.locator('.document-row', { hasText: 'microblog' }).first().locator('.excerpt')
  const { page, faults } = await open('/documents?platforms=microblog')
  await until('the start of the body is shown', async () => (await title(page).innerText()) !== 'Without a title')
  const id = (await rows(page).first().getAttribute('href'))!.split('/').at(-1)
  const { body } = await world.server.consumer(world.key, 'GET', `/v1/documents/${id}/content`)
  const excerpt = (await title(page).innerText()).replace(/ …$/, '')
  assert.ok(excerpt.length > 20 && body.body.replace(/\s+/g, ' ').startsWith(excerpt), excerpt)
  await rows(page).first().click()
  await page.getByRole('heading', { level: 1, name: excerpt }).waitFor()
  const { page: restricted, faults: others } = await open('/documents?platforms=microblog', key)
  await title(restricted).getByText('Without a title').waitFor()
  assert.deepEqual([...faults, ...others], [])
})

type Box = Readonly<Record<'left' | 'right' | 'top' | 'bottom' | 'width', number>>

test('no row is cut within a word, and no filter field overlaps its neighbour', async () => {
  for (const width of [390, 1280]) {
    const { page } = await openPage('/documents', { key: world.key, width })
    await rows(page).nth(9).waitFor()
    const cut = await page.locator('.document-facts').evaluateAll((lines) =>
      lines.flatMap((line) => {
        const { top, bottom, right } = line.getBoundingClientRect()
        return [...line.children]
          .filter((fact) => {
            const box = fact.getBoundingClientRect()
            const isSeen = box.top < bottom - 1 && box.bottom > top + 1
            return (
              isSeen && (box.right > right + 1 || box.bottom > bottom + 1 || fact.scrollWidth > fact.clientWidth + 1)
            )
          })
          .map((fact) => fact.textContent)
      }),
    )
    assert.deepEqual(cut, [], `at ${width} px`)
    if (width < 960) await page.locator('.filters > summary').click()
    for (const name of ['Published', 'Score']) {
      const group = page.getByRole('group', { name, exact: true })
      const around = (await group.boundingBox())!
      const boxes = await group
        .locator('input')
        .evaluateAll((inputs) => inputs.map((input) => input.getBoundingClientRect().toJSON()))
      const [first, second] = boxes as [Box, Box]
      assert.ok(first.bottom <= second.top || first.right <= second.left, `${name} at ${width} px`)
      for (const { left, right, width: wide } of boxes as Box[]) {
        assert.ok(left >= around.x && right <= around.x + around.width + 1 && wide >= 100, `${name} at ${width} px`)
      }
    }
  }
})
