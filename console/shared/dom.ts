/** The content of an element: nodes and texts, in lists of any depth. Null and undefined are skipped. */
export type Content = Node | string | null | undefined | readonly Content[]

type Property = string | number | boolean | null | undefined | ((event: Event) => unknown)

/**
 * Creates an element. Text becomes text nodes, so nothing from a server is ever parsed as markup.
 *
 * `properties`: `class`, `data-*`, `aria-*` and other attributes by their HTML names; functions become listeners for
 * that event (`click: fn`); `true` sets an empty attribute; `false`, `null` and `undefined` leave it out.
 */
export function el<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Readonly<Record<string, Property>> = {},
  ...children: readonly Content[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue
    if (typeof value === 'function') element.addEventListener(key, value)
    else element.setAttribute(key, value === true ? '' : String(value))
  }
  element.append(...present(children))
  return element
}

/** Replaces the content of an element. */
export function fill<Filled extends Element>(element: Filled, ...children: readonly Content[]): Filled {
  element.replaceChildren(...present(children))
  return element
}

function present(children: Content): (Node | string)[] {
  if (children === null || children === undefined || children === '') return []
  return typeof children === 'string' || children instanceof Node ? [children] : children.flatMap(present)
}

/** Returns the element with that ID, which the page must have. */
export function byId<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no element #${id}`)
  return element as Kind
}
