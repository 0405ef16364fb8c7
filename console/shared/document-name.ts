import { type ComponentChild, h } from 'preact'

/** What a document can be called by. Either is absent where the application may not read it. */
export interface Named {
  readonly title?: string | null | undefined
  readonly body?: string | null | undefined
}

const beginningMax = 160

/** A post may have no title: it is known by how it begins. */
export const nameOf = ({ title, body }: Named): string => title?.trim() || beginningOf(body) || 'Without a title'

/** The same, with what is no title set apart. */
export function DocumentName({ title, body }: Named): ComponentChild {
  return title?.trim() || h('span', { class: 'excerpt' }, nameOf({ body }))
}

function beginningOf(body: string | null | undefined): string {
  const line = body?.trim().replace(/\s+/g, ' ') ?? ''
  return line.length > beginningMax ? `${line.slice(0, beginningMax).trimEnd()} …` : line
}
