import { schemeTitle } from './credentials.js'
import { el } from './dom.js'
import { inline, markdown } from './markdown-light.js'
import { schemaTree } from './schema-tree.js'
import { snippet } from './snippet.js'

/** The parts before the first operation: what this is, which credential opens what, what an error looks like. */
export function overview(model) {
  const { description } = model
  const base = snippet('Base address', { wrap: true })
  base.set(location.origin)
  const parts = [
    {
      id: 'overview',
      title: 'Overview',
      node: el(
        'section',
        { class: 'intro', id: 'overview' },
        el('h1', { tabindex: -1 }, `${description.info.title} API`),
        el('div', { class: 'prose' }, markdown(description.info.description)),
        base.box,
      ),
    },
    { id: 'authentication', title: 'Authentication', node: authentication(model) },
  ]
  const error = description.components?.schemas?.Error
  if (error) {
    const node = el(
      'section',
      { class: 'intro', id: 'errors' },
      el('h2', { tabindex: -1 }, 'Errors'),
      el('div', { class: 'prose' }, markdown(error.description)),
      schemaTree(description, error, { answer: true }),
    )
    parts.push({ id: 'errors', title: 'Errors', node })
  }
  return parts
}

function authentication({ schemes, operations }) {
  const cards = Object.entries(schemes).map(([name, scheme]) => {
    const opened = operations.filter((operation) => operation.scheme === name)
    const prefixes = [...new Set(opened.map(({ path }) => path.match(/^\/(?:[a-z]+\/)?v\d+|^\/[a-z]+/)?.[0]))]
    return el(
      'div',
      { class: 'scheme' },
      el('h3', {}, el('span', { class: `surface ${name}` }, schemeTitle(name))),
      el('p', {}, inline(scheme.description)),
      el(
        'p',
        { class: 'opens' },
        opened.length === 0
          ? 'Opens no operation yet'
          : [`Opens ${opened.length} operation${opened.length === 1 ? '' : 's'} under `],
        prefixes.flatMap((prefix, i) => [i === 0 ? '' : ', ', el('code', {}, prefix)]),
      ),
    )
  })
  return el(
    'section',
    { class: 'intro', id: 'authentication' },
    el('h2', { tabindex: -1 }, 'Authentication'),
    el(
      'div',
      { class: 'prose' },
      markdown(
        'Send the credential of the surface as `Authorization: Bearer …`. A credential works on its own surface only.',
      ),
    ),
    el('div', { class: 'schemes' }, cards),
  )
}
