import { type ComponentChild, type ComponentChildren, h } from 'preact'
import { AsCode } from '../shared/as-code.ts'

/** The title of an operator's view, with the request behind it as code. */
export function Head({
  title,
  path,
  children,
}: {
  readonly title: string
  readonly path: string
  readonly children?: ComponentChildren
}): ComponentChild {
  return h(
    'div',
    { class: 'view-head' },
    h('h1', { dir: 'auto' }, title),
    children,
    h(AsCode, { request: { method: 'GET', path, variable: 'TIDEMARK_ADMIN_TOKEN' } }),
  )
}
