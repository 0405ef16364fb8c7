import { type Content, el } from '../shared/dom.ts'
import { inline, markdown } from '../shared/markdown-light.ts'
import { type Description, type Parameter, type PlainSchema, plain, type Schema } from './openapi-model.ts'
import { limitWords, mapValues, typeWords } from './schema-words.ts'

const valuesShown = 12

/** Where the tree is shown. A response marks its optional fields, a request its required ones. */
interface View {
  readonly description: Description
  readonly answer: boolean
}

interface Field {
  readonly name: string | null
  readonly schema: Schema | PlainSchema | undefined
  /** Null if it is neither required nor optional, such as a list item. */
  readonly required: boolean | null
  readonly text?: string | undefined
}

/** The content of a fold. `make` creates it when the fold is first opened. */
interface FoldContent {
  readonly label: string
  make(): readonly HTMLElement[]
}

/**
 * Shows the fields of a schema, with nested ones folded. A fold is filled when it is first opened, so a schema may
 * contain itself.
 */
export function schemaTree(description: Description, schema: Schema, { answer = false } = {}): HTMLElement {
  const view = { description, answer }
  const known = plain(description, schema)
  const inside = foldContentOf(view, known)
  if (inside === null) return el('div', { class: 'fields' }, fieldRow(view, { name: null, schema, required: null }))
  const note = known.type === 'array' ? el('p', { class: 'shape' }, typeWords(description, schema)) : null
  return el('div', { class: 'fields' }, note, inside.make())
}

/** A row for one parameter. */
export function parameterRow(
  description: Description,
  { name, schema, required, description: text }: Parameter,
): HTMLElement {
  return fieldRow({ description, answer: false }, { name, schema, required: required ?? null, text })
}

/** A row for one field. It marks required fields of a request and optional fields of a response. */
function fieldRow(view: View, { name, schema, required, text }: Field): HTMLElement {
  const { description } = view
  const known = plain(description, schema)
  const words = text ?? known.description
  const inside = foldContentOf(view, known)
  return el(
    'div',
    { class: 'field' },
    el(
      'div',
      { class: 'field-head' },
      name === null ? null : el('code', { class: 'field-name' }, name),
      el('span', { class: 'field-type' }, typeWords(description, schema)),
      required === true && !view.answer ? el('span', { class: 'required' }, 'required') : null,
      required === false && view.answer ? el('span', { class: 'field-type' }, 'may be absent') : null,
      known.deprecated ? el('span', { class: 'chip' }, 'deprecated') : null,
    ),
    words ? el('div', { class: 'field-text' }, markdown(words)) : null,
    allowed(description, known),
    limits(description, known),
    inside === null ? null : fold(inside),
  )
}

function limits(description: Description, known: PlainSchema): Content {
  const own = limitWords(description, known)
  const each = known.type === 'array' && known.items ? limitWords(description, known.items) : []
  const words = [...own, ...each.map((word) => `each ${word}`)]
  if (words.length === 0) return null
  return el(
    'div',
    { class: 'chips' },
    words.map((word) => el('span', { class: 'chip' }, word)),
  )
}

function allowed(description: Description, known: PlainSchema): Content {
  const holder = known.type === 'array' ? plain(description, known.items ?? {}) : known
  const values = holder.enum ?? (holder.const === undefined ? [] : [holder.const])
  if (values.length === 0) return null
  const show = (list: readonly unknown[]): HTMLElement[] => list.map((value) => el('code', {}, String(value)))
  const rest = values.slice(valuesShown)
  return el(
    'div',
    { class: 'values' },
    el('span', {}, values.length === 1 ? 'Always' : 'One of'),
    show(values.slice(0, valuesShown)),
    rest.length === 0
      ? null
      : el(
          'details',
          { class: 'more' },
          el('summary', {}, `${rest.length} more`),
          el('div', { class: 'values' }, show(rest)),
        ),
  )
}

/** Returns the content of a schema: fields, map values, list items, or the variants of a union; null if it has none. */
function foldContentOf(view: View, known: PlainSchema): FoldContent | null {
  const { description } = view
  if (known.type === 'array') return foldContentOf(view, plain(description, known.items ?? {}))
  if (known.variants) {
    const shapes = known.variants.filter((variant) => foldContentOf(view, variant) !== null)
    if (shapes.length === 0) return null
    return {
      label: `${known.variants.length} shapes`,
      make: () => shapes.map((shape, i) => variant(view, shape, i)),
    }
  }
  const entries = Object.entries(known.properties ?? {})
  if (entries.length > 0) {
    const required = new Set(known.required ?? [])
    return {
      label: entries.length === 1 ? '1 field' : `${entries.length} fields`,
      make: () => entries.map(([name, schema]) => fieldRow(view, { name, schema, required: required.has(name) })),
    }
  }
  const values = mapValues(known)
  if (!values || foldContentOf(view, plain(description, values)) === null) return null
  return {
    label: 'values',
    make: () => [fieldRow(view, { name: '(any name)', schema: values, required: null })],
  }
}

function variant(view: View, schema: PlainSchema, index: number): HTMLElement {
  const known = plain(view.description, schema)
  const inside = foldContentOf(view, known)
  return el(
    'div',
    { class: 'variant' },
    el(
      'p',
      { class: 'shape' },
      known.title ?? `Shape ${index + 1}`,
      known.description ? [': ', inline(known.description)] : null,
    ),
    inside?.make(),
  )
}

function fold(inside: FoldContent): HTMLElement {
  const body = el('div', { class: 'nested' })
  const details = el('details', { class: 'fold' }, el('summary', {}, inside.label), body)
  details.addEventListener('toggle', () => {
    if (details.open && body.childElementCount === 0) body.append(...inside.make())
  })
  return details
}

/** “Expand all” opens this many levels, because a schema may contain itself. */
const levels = 3

/** Opens every fold, and the folds inside them, down to `levels`. */
export function unfold(tree: HTMLElement): void {
  for (let level = 0; level < levels; level += 1) openFolds(tree)
}

/** Opens the folds around the shallowest field of that name. Returns null if there is none. */
export function unfoldTo(tree: HTMLElement, name: string): HTMLElement | null {
  for (let level = 0; level <= levels; level += 1) {
    const found = [...tree.querySelectorAll('.field-name')].find(({ textContent }) => textContent === name)
    if (found !== undefined) {
      for (let at = found.closest('details'); at !== null; at = at.parentElement!.closest('details')) at.open = true
      return found.closest<HTMLElement>('.field')
    }
    // A closed fold keeps its content, so the next level can be searched.
    for (const details of openFolds(tree)) details.open = false
  }
  return null
}

function openFolds(tree: HTMLElement): readonly HTMLDetailsElement[] {
  const closed = [...tree.querySelectorAll<HTMLDetailsElement>('details.fold:not([open])')]
  for (const details of closed) {
    details.open = true
    // The browser's own toggle event comes later, but the content is needed now.
    details.dispatchEvent(new Event('toggle'))
  }
  return closed
}
