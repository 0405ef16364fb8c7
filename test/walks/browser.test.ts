import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminToken } from '../acceptance/harness.ts'
import { consoleInBrowser } from '../browser/console-world.ts'

const { world, open } = await consoleInBrowser()

test('a reader signs in, searches while typing, opens a result, and lists documents and changes', async () => {
  const { page, faults } = await open('/search')
  const views = page.getByRole('navigation', { name: 'Views' })
  await page.getByLabel('Application key').fill(world.key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('searchbox', { name: 'Search' }).fill('tidal pow')
  await page.locator('.result .title', { hasText: 'Tidal power array in the Corrow Narrows' }).first().click()
  await page.getByRole('heading', { name: 'Tidal power array in the Corrow Narrows' }).first().waitFor()
  await views.getByRole('link', { name: 'Documents', exact: true }).click()
  await page.locator('li[aria-posinset="1"]').waitFor()
  await views.getByRole('link', { name: 'Changes', exact: true }).click()
  await page.getByRole('heading', { name: 'Changes' }).first().waitFor()
  assert.deepEqual(faults, [])
})

test('an operator sees the overview and the datasets', async () => {
  const { page, faults } = await open('/operate/overview', { key: adminToken })
  await page.locator('.tile', { has: page.getByText('Documents', { exact: true }) }).waitFor()
  await page.getByRole('link', { name: 'Datasets', exact: true }).first().click()
  await page.getByText('news', { exact: true }).first().waitFor()
  assert.deepEqual(faults, [])
})
