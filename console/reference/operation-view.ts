import { codeLanguage } from '../shared/code-language.ts'
import { type Content, el, fill } from '../shared/dom.ts'
import { jsonNodes } from '../shared/json-view.ts'
import { inline, markdown } from '../shared/markdown-light.ts'
import { codeOf } from '../shared/request-code.ts'
import { snippet } from '../shared/snippet.ts'
import { languageSwitch } from './code-language.ts'
import { schemeTitle } from './credentials.ts'
import { contentOf, type Description, follow, type Operation, type Schema } from './openapi-model.ts'
import { requestOf, shownRequest } from './request.ts'
import { exampleOf } from './schema-example.ts'
import { parameterRow, schemaTree, unfold } from './schema-tree.ts'
import { tryPanel } from './try-panel.ts'

const reasons: Readonly<Record<string, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted; work continues',
  204: 'Done, no content',
  206: 'Part of the file',
}
const parameterKinds = [
  ['path', 'Path parameters'],
  ['query', 'Query parameters'],
  ['header', 'Headers'],
] as const

export function methodBadge(method: string): HTMLElement {
  return el('span', { class: `method ${method}` }, method.toUpperCase())
}

/** Shows one operation: text and schemas on the left; request, form and example response on the right. */
export function operationView(description: Description, operation: Operation): HTMLElement {
  return el(
    'article',
    { class: 'operation', id: operation.id, 'aria-labelledby': `${operation.id}-title` },
    el(
      'header',
      { class: 'operation-head' },
      el(
        'h3',
        { id: `${operation.id}-title`, tabindex: -1 },
        operation.title,
        el('a', { class: 'anchor', href: `#${operation.id}`, 'aria-label': `Link to ${operation.title}` }, '#'),
      ),
      el('p', { class: 'route' }, methodBadge(operation.method), el('code', {}, pathNodes(operation.path))),
      el(
        'p',
        { class: 'facts' },
        el(
          'span',
          { class: `surface ${operation.scheme ?? 'open'}` },
          operation.scheme === null ? 'No key needed' : schemeTitle(operation.scheme),
        ),
        el(
          'code',
          { class: 'operation-id', title: 'Operation name, as used in quotas, metrics and logs' },
          operation.id,
        ),
        operation.deprecated ? el('span', { class: 'chip' }, 'deprecated') : null,
      ),
    ),
    el(
      'div',
      { class: 'words' },
      operation.description ? el('div', { class: 'prose' }, markdown(operation.description)) : null,
      parameters(description, operation),
      requestBody(description, operation),
      responses(description, operation),
    ),
    side(description, operation),
  )
}

/** Returns a path that may break at its slashes, with its parameters marked. */
function pathNodes(path: string): readonly Content[] {
  return path.split(/(\{[^}]+\})/).flatMap((part): Content[] => {
    if (part.startsWith('{')) return [el('span', { class: 'path-parameter' }, part)]
    return part.split(/(?=\/)/).flatMap((piece) => [el('wbr'), piece])
  })
}

function parameters(description: Description, operation: Operation): Content {
  return parameterKinds.map(([kind, title]) => {
    const here = operation.parameters.filter((one) => one.in === kind)
    if (here.length === 0) return null
    const rows = here.map((parameter) => parameterRow(description, parameter))
    return el('section', {}, el('h4', {}, title), el('div', { class: 'fields' }, rows))
  })
}

function requestBody(description: Description, operation: Operation): Content {
  if (!operation.requestBody) return null
  const contents = contentOf(description, operation.requestBody)
  const { description: text } = follow(description, operation.requestBody)
  const trees = contents
    .flatMap(({ schema }) => schema ?? [])
    .slice(0, 1)
    .map((schema) => schemaTree(description, schema))
  return el(
    'section',
    {},
    heading('Body', contents.map(({ type }) => type).join(' or '), trees),
    text ? markdown(text) : null,
    trees,
  )
}

function heading(title: string | null, note: string, trees: readonly HTMLElement[]): HTMLElement {
  const foldable = trees.some((tree) => tree.querySelector('details.fold'))
  const open = el('button', { type: 'button', class: 'unfold', click: () => trees.forEach(unfold) }, 'Expand all')
  return el(
    'div',
    { class: 'heading' },
    title === null ? null : el('h4', {}, title),
    el('span', { class: 'note' }, note),
    foldable ? open : null,
  )
}

function responses(description: Description, operation: Operation): HTMLElement {
  const rows = Object.entries(operation.responses ?? {}).map(([status, value]) => {
    const response = follow(description, value)
    const [content] = contentOf(description, response)
    const kind = isGood(status) ? 'good' : Number(status) < 500 ? 'warn' : 'bad'
    const given = response.description === 'Default Response' ? '' : response.description
    const line = [
      el('span', { class: `status-code ${kind}` }, status),
      el('span', { class: 'response-text' }, inline(given || reasons[status] || '')),
    ]
    if (!content?.schema || isError(content.schema)) return el('div', { class: 'response plain' }, line)
    const body = el('div', { class: 'response-body' })
    const details = el('details', { class: 'response', open: isGood(status) }, el('summary', {}, line), body)
    const tree = schemaTree(description, content.schema, { answer: true })
    fill(body, heading(null, content.type, [tree]), tree)
    return details
  })
  return el('section', {}, el('h4', {}, 'Responses'), el('div', { class: 'responses' }, rows))
}

/** All errors have the same schema, which the overview shows once. */
const isError = (schema: Schema): boolean => schema.$ref?.endsWith('/Error') === true

const isGood = (status: string): boolean => Number(status) < 300

function side(description: Description, operation: Operation): HTMLElement {
  const state = requestOf(description, operation)
  const request = snippet(languageSwitch(), { wrap: true })
  const show = () => request.set(codeOf(codeLanguage.value, shownRequest(operation, state)))
  state.listeners.add(show)
  codeLanguage.subscribe(show)
  const panel = el('div', { class: 'try-body' })
  const details = el('details', { class: 'try' }, el('summary', {}, 'Try it'), panel)
  details.addEventListener('toggle', () => {
    if (details.open && panel.childElementCount === 0) panel.append(tryPanel(description, operation, state))
  })
  return el(
    'div',
    { class: 'side' },
    el('div', { class: 'side-inner' }, request.box, details, exampleResponse(description, operation)),
  )
}

function exampleResponse(description: Description, operation: Operation): Content {
  const [status, value] = Object.entries(operation.responses ?? {}).find(([code]) => isGood(code)) ?? []
  const [content] = status === undefined ? [] : contentOf(description, value)
  if (!content?.schema || !/json/.test(content.type)) return null
  const given = content.example ?? Object.values(content.examples ?? {})[0]?.value
  const example = given ?? exampleOf(description, content.schema)
  if (example === null || (typeof example === 'object' && Object.keys(example).length === 0)) return null
  const box = snippet(`Example response, ${status}`)
  const text = JSON.stringify(example, null, 2)
  box.set(text, jsonNodes(text))
  return box.box
}
