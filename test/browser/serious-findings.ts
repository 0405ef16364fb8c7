import axe from 'axe-core'
import type { Page } from 'playwright-core'

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/** What of a page, or of some of its parts, somebody with other eyes, ears or hands would be stopped by. */
export async function seriousFindings(page: Page, parts: readonly string[] = ['html']): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(parts)})`)) as { violations: Violation[] }
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}
