import { type ComponentChild, h } from 'preact'
import { CodeBox } from '../shared/code-box.ts'
import { FirstDocuments } from '../shared/first-documents.ts'

/** Says what to do on an instance without documents. */
export function FirstSteps(): ComponentChild {
  return h(
    'section',
    { class: 'card first-steps', 'aria-labelledby': 'first-steps' },
    h('h2', { id: 'first-steps' }, 'Get started'),
    h(
      'ol',
      null,
      h('li', null, h('p', null, h('a', { href: '/operate/datasets' }, 'Create a dataset'), ' for the documents.')),
      h(
        'li',
        null,
        h(
          'p',
          null,
          'Add documents, or ',
          h('a', { href: '/operate/collectors' }, 'create a collector'),
          ' that does.',
        ),
        h(FirstDocuments, null),
      ),
      h(
        'li',
        null,
        h('p', null, h('a', { href: '/operate/applications' }, 'Create an application'), ' that may read them.'),
        h(CodeBox, {
          title: 'An application and its first key',
          text: 'tidemark app create "My app" --dataset DATASET',
        }),
      ),
    ),
  )
}
