import { type ComponentChild, Fragment, h } from 'preact'
import { CodeBox } from './code-box.ts'

/** Ways to the first documents, for whoever runs the server. */
const ways = [
  ['Serve with the sample data, in place of “tidemark serve”', 'tidemark start'],
  ['Import a file, one JSON document per line', 'tidemark import documents.ndjson'],
  ['Collect RSS, Atom and JSON feeds', 'tidemark collect feeds feeds.yaml'],
] as const

export function FirstDocuments(): ComponentChild {
  return h(
    Fragment,
    null,
    ways.map(([title, text]) => h(CodeBox, { key: text, title, text })),
    h(
      'p',
      { class: 'note' },
      'Other programs send documents through the collector API: ',
      h('a', { href: '/docs#guide-collectors' }, 'how to write a collector'),
      '.',
    ),
  )
}
