import { type ComponentChild, Fragment, h } from 'preact'
import { CodeBox } from './code-box.ts'

/** Ways to add the first documents, for the person who runs the server. */
const ways = [
  ['Import a file, one JSON document per line', 'tidemark import documents.ndjson'],
  ['Collect RSS, Atom and JSON feeds', 'tidemark collect feeds feeds.yaml'],
  // Another folder and port, because this instance uses its own.
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
