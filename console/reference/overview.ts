import { type Content, el } from '../shared/dom.ts'
import { inline, markdown } from '../shared/markdown-light.ts'
import { snippet } from '../shared/snippet.ts'
import { schemeTitle } from './credentials.ts'
import type { DescribedError, Model } from './openapi-model.ts'
import { schemaTree } from './schema-tree.ts'

/** A section before the operations. Its link in the list points to `id`. */
export interface Section {
  readonly id: string
  readonly title: string
  readonly node: HTMLElement
}

/** Returns the sections before the first operation: introduction, credentials, and errors. */
export function overview(model: Model): readonly Section[] {
  const { description } = model
  const base = snippet('Base address', { wrap: true })
  base.set(location.origin)
  const parts: Section[] = [
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
      errorTable(description['x-errors'] ?? []),
    )
    parts.push({ id: 'errors', title: 'Errors', node })
  }
  return parts
}

/** Lists every error code with its remedy. Each row has an anchor, such as `#error-cursor_expired`. */
function errorTable(errors: readonly DescribedError[]): Content {
  if (errors.length === 0) return null
  const rows = errors.map(({ code, status, retryable, remedy }) =>
    el(
      'tr',
      { id: `error-${code}` },
      el('td', {}, el('span', { class: `status-code ${status < 500 ? 'warn' : 'bad'}` }, String(status))),
      el('th', { scope: 'row', tabindex: -1 }, el('code', {}, code)),
      el('td', {}, inline(remedy), retryable ? el('span', { class: 'chip' }, 'retryable') : null),
    ),
  )
  const heads = ['Status', 'Code', 'What to do'].map((head) => el('th', { scope: 'col' }, head))
  return [
    el('h3', {}, 'All codes'),
    el('table', { class: 'errors' }, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, rows)),
  ]
}

function authentication({ schemes, operations }: Model): HTMLElement {
  const cards = Object.entries(schemes).map(([name, scheme]) => {
    const opened = operations.filter((operation) => operation.scheme === name)
    const prefixes = [...new Set(opened.map(({ path }) => path.replace(/^((?:\/[a-z]+)?\/v\d+)\/.*/, '$1/…')))].sort()
    return el(
      'div',
      { class: 'scheme' },
      el('h3', {}, el('span', { class: `surface ${name}` }, schemeTitle(name))),
      el('p', {}, inline(scheme.description)),
      el(
        'p',
        { class: 'opens' },
        opened.length === 0
          ? 'No operations yet'
          : [`For ${opened.length} operation${opened.length === 1 ? '' : 's'}: `],
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
        'Send the credential as `Authorization: Bearer …`. Each credential works on its own part of the API only.',
      ),
    ),
    el('div', { class: 'schemes' }, cards),
  )
}
