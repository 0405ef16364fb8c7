/**
 * Makes elements. Text goes in as text nodes, so nothing that comes from a server is ever read as markup.
 *
 * `properties`: `class`, `data-*`, `aria-*` and other attributes by their HTML names; functions become listeners of
 * that event (`click: fn`); `true` sets an empty attribute; `false`, `null` and `undefined` leave it out.
 */
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue
    if (typeof value === 'function') element.addEventListener(key, value)
    else element.setAttribute(key, value === true ? '' : String(value))
  }
  element.append(...present(children))
  return element
}

/** Replaces what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children))
  return element
}

function present(children) {
  return children
    .flat(Number.POSITIVE_INFINITY)
    .filter((child) => child !== null && child !== undefined && child !== '')
}
