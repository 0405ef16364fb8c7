import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/**
 * Returns what would stop people with other eyes, ears or hands on a page, or in some of its parts. `rules` limits the
 * check to these.
 */
export async function seriousFindings(
  page: Page,
  parts: readonly string[] = ['html'],
  rules: readonly string[] | null = null,
): Promise<string[]> {
  // Half a megabyte, which stays until the page navigates.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(rules !== null && { runOnly: { type: 'rule', values: rules } }) }
  const run = `axe.run(${JSON.stringify(parts)}, ${JSON.stringify(options)})`
  const { violations } = (await page.evaluate(run)) as { violations: Violation[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

/** The same in both themes, which differ only in colours. */
export async function seriousInBothThemes(page: Page, parts?: readonly string[]): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  const light = await seriousFindings(page, parts)
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  const dark = await seriousFindings(page, parts, ['color-contrast'])
  return [...light.map((one) => `light: ${one}`), ...dark.map((one) => `dark: ${one}`)]
}
