import { type ComponentChild, Fragment, h } from 'preact'
import { CodeBox } from './code-box.ts'

/** Ways to the first documents, for whoever runs the server. */
const ways = [
  ['Import a file, one JSON document per line', 'tidemark import documents.ndjson'],
  ['Collect RSS, Atom and JSON feeds', 'tidemark collect feeds feeds.yaml'],
  // Never in the folder of this instance, whose data is real, nor at its port, which it holds.
  ['Or try the sample data, in a folder of its own', 'tidemark start --data-dir ./sample-data --port 8081'],
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
