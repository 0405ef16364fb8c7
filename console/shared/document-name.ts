import { type ComponentChild, h } from 'preact'

/** The texts that can name a document. Either is absent where the application may not read it. */
export interface Named {
  readonly title?: string | null | undefined
  readonly body?: string | null | undefined
}

const beginningMax = 160

/** Returns the title or, for a post without one, the start of its body. */
export const nameOf = ({ title, body }: Named): string => title?.trim() || beginningOf(body) || 'Without a title'

/** Shows the name of a document. One that is not a title is marked as an excerpt. */
export function DocumentName({ title, body }: Named): ComponentChild {
  return title?.trim() || h('span', { class: 'excerpt' }, nameOf({ body }))
}

function beginningOf(body: string | null | undefined): string {
  const line = body?.trim().replace(/\s+/g, ' ') ?? ''
  return line.length > beginningMax ? `${line.slice(0, beginningMax).trimEnd()} …` : line
}
