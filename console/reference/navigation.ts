import { byId, type Content, el, fill } from '../shared/dom.ts'
import { goTo } from './go-to.ts'
import type { Model } from './openapi-model.ts'
import { methodBadge } from './operation-view.ts'
import type { Section } from './overview.ts'
import { unfoldTo } from './schema-tree.ts'
import { type Found, find, searchTextOf } from './search-text.ts'

interface Entry {
  readonly item: HTMLElement
  readonly link: HTMLAnchorElement
  /** Shows where the words of the filter were found. */
  readonly where: HTMLElement
  match(words: readonly string[]): Found | null
}

/** Fills and wires the list on the left: groups of links, a filter, the current section, and the menu on phones. */
export function wireNavigation(
  model: Model,
  sections: readonly Section[],
  guides: readonly Section[],
  signal: AbortSignal,
): void {
  const nav = byId('nav')
  const entries: Entry[] = []
  const link = (id: string, ...content: Content[]): HTMLAnchorElement => {
    const anchor = el('a', { href: `#${id}` }, content)
    anchor.dataset.target = id
    return anchor
  }
  const list = (title: string, items: Content): HTMLElement =>
    el('section', {}, el('h2', {}, title), el('ul', {}, items))
  const whereLine = (): HTMLElement => el('span', { class: 'nav-where' })
  const sectionItem = ({ id, title, node }: Section): HTMLElement => {
    const where = whereLine()
    const anchor = link(id, el('span', { class: 'nav-title' }, title, where))
    const item = el('li', {}, anchor)
    const text = once(() => node.textContent.toLowerCase())
    const shown = title.toLowerCase()
    entries.push({
      item,
      link: anchor,
      where,
      match: (words) => {
        if (!words.every((word) => text().includes(word))) return null
        return { where: words.every((word) => shown.includes(word)) ? null : 'in the text', field: null }
      },
    })
    return item
  }
  const start = list('Start', sections.map(sectionItem))
  const reading = list('Guides', guides.map(sectionItem))
  const lists = model.groups.map((group) => {
    const items = group.operations.map((operation) => {
      const where = whereLine()
      const anchor = link(
        operation.id,
        methodBadge(operation.method),
        el('span', { class: 'nav-title' }, operation.title, where),
      )
      anchor.title = `${operation.method.toUpperCase()} ${operation.path}`
      const item = el('li', {}, anchor)
      const text = once(() => searchTextOf(model.description, group, operation))
      entries.push({ item, link: anchor, where, match: (words) => find(text(), words) })
      return item
    })
    return list(group.name, items)
  })
  const shown = [start, reading, ...lists]
  fill(byId('groups'), shown)
  wireFilter(nav, shown, entries, signal)
  wireMenu(nav, signal)
  wireSpy(nav, signal)
}

/** Computes a value on first use: most readers never filter. */
function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const linksShown = 'section:not([hidden]) li:not([hidden]) a'

function wireFilter(
  nav: HTMLElement,
  lists: readonly HTMLElement[],
  entries: readonly Entry[],
  signal: AbortSignal,
): void {
  const input = byId<HTMLInputElement>('filter')
  const none = byId('none')
  const apply = (): void => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    for (const { item, link, where, match } of entries) {
      const found = match(words)
      item.hidden = found === null
      where.textContent = found?.where ?? ''
      link.dataset.field = found?.field ?? ''
    }
    for (const group of lists) group.hidden = group.querySelector('li:not([hidden])') === null
    none.textContent = lists.every((group) => group.hidden) ? 'Nothing matches.' : ''
  }
  input.addEventListener('input', apply)
  // The field may have text already: the reader may type before the list exists, and browsers restore fields.
  if (input.value !== '') apply()
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      input.value = ''
      apply()
    }
    if (event.key === 'Enter' && input.value.trim() !== '') {
      // Entries whose name matches come before those whose text matches.
      const called = `${linksShown}:not(:has(.nav-where:not(:empty)))`
      const link = nav.querySelector<HTMLElement>(called) ?? nav.querySelector<HTMLElement>(linksShown)
      link?.click()
    }
  })
  nav.addEventListener('keydown', (event) => {
    const step = steps[event.key]
    if (step === undefined) return
    const stops = [input, ...nav.querySelectorAll<HTMLElement>(linksShown)]
    stops[stops.indexOf(document.activeElement as HTMLElement) + step]?.focus()
    event.preventDefault()
  })
  document.addEventListener(
    'keydown',
    (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '')
      if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || document.querySelector('dialog[open]'))
        return
      event.preventDefault()
      openMenu(true)
      input.focus()
    },
    { signal },
  )
}

/** How far an arrow key moves in the list. */
const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

export function openMenu(open: boolean): void {
  document.body.classList.toggle('nav-open', open)
  // The view, and the button with it, may have been removed.
  document.getElementById('menu')?.setAttribute('aria-expanded', String(open))
}

function wireMenu(nav: HTMLElement, signal: AbortSignal): void {
  const button = byId('menu')
  button.addEventListener('click', () => openMenu(button.getAttribute('aria-expanded') !== 'true'))
  nav.addEventListener('click', (event) => {
    const link = (event.target as Element).closest('a')
    if (link === null) return
    openMenu(false)
    const { target, field } = link.dataset
    if (!target || !field) return
    // Goes to the matching field, which may be folded away, and not only to its operation.
    event.preventDefault()
    history.pushState(null, '', `#${target}`)
    const operation = byId(target)
    goTo(unfoldTo(operation, field) ?? operation)
  })
  document.addEventListener(
    'keydown',
    (event) => {
      if (event.key === 'Escape') openMenu(false)
    },
    { signal },
  )
}

/** Marks the link of the section that is nearest to the top of the window (a scroll spy). */
function wireSpy(nav: HTMLElement, signal: AbortSignal): void {
  const links = [...nav.querySelectorAll<HTMLElement>('a[data-target]')]
  const anchors = new Map(links.map((anchor) => [anchor.dataset.target!, anchor]))
  const seen = new Set<Element>()
  let current: HTMLElement | null = null
  const observer = new IntersectionObserver(
    (changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting) seen.add(target)
        else seen.delete(target)
      }
      const [top] = [...seen].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).slice(-1)
      const next = top === undefined ? current : anchors.get(top.id)
      if (next === current || next === undefined || next === null) return
      current?.removeAttribute('aria-current')
      next.setAttribute('aria-current', 'location')
      current = next
      reveal(nav, next)
    },
    { rootMargin: '-15% 0px -75% 0px' },
  )
  for (const id of anchors.keys()) {
    const part = document.getElementById(id)
    if (part) observer.observe(part)
  }
  signal.addEventListener('abort', () => observer.disconnect())
}

/** Scrolls only the list to a link. `scrollIntoView` would scroll the page as well. */
function reveal(nav: HTMLElement, anchor: HTMLElement): void {
  const box = anchor.getBoundingClientRect()
  const frame = nav.getBoundingClientRect()
  if (box.top < frame.top + 80) nav.scrollTop -= frame.top + 80 - box.top
  else if (box.bottom > frame.bottom - 40) nav.scrollTop += box.bottom - frame.bottom + 40
}
