import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/**
 * Returns the serious accessibility violations that axe finds on a page, or in some of its parts. `rules` limits the
 * check to these rules.
 */
export async function seriousFindings(
  page: Page,
  parts: readonly string[] = ['html'],
  rules: readonly string[] | null = null,
): Promise<string[]> {
  // The script stays in the page until it navigates.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(rules !== null && { runOnly: { type: 'rule', values: rules } }) }
  const run = `axe.run(${JSON.stringify(parts)}, ${JSON.stringify(options)})`
  const { violations } = (await page.evaluate(run)) as { violations: Violation[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

/** Checks both themes. They differ only in colours, so the dark one is checked only for contrast. */
export async function seriousInBothThemes(page: Page, parts?: readonly string[]): Promise<string[]> {
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  const light = await seriousFindings(page, parts)
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' })
  const dark = await seriousFindings(page, parts, ['color-contrast'])
  return [...light.map((one) => `light: ${one}`), ...dark.map((one) => `dark: ${one}`)]
}
