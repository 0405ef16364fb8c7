import { type ComponentChild, h } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { byId, el, fill } from '../shared/dom.ts'
import { markdown } from '../shared/markdown-light.ts'
import { registerSchemes, wireKeyDialog } from './credentials.ts'
import { goTo } from './go-to.ts'
import { loadGuides } from './guides.ts'
import { openMenu, wireNavigation } from './navigation.ts'
import { type Model, readModel } from './openapi-model.ts'
import { operationView } from './operation-view.ts'
import { overview, type Section } from './overview.ts'

/**
 * Shows every operation of the API description. There are thousands of elements that never change, so they are created
 * once, without the framework, and kept for the next visit. Only the frame belongs to the view.
 */
export function ReferenceView(): ComponentChild {
  useEffect(() => {
    const signal = new AbortController()
    show(signal.signal)
    return () => {
      signal.abort()
      openMenu(false)
    }
  }, [])
  // Always the same object, so that the framework does not touch the elements that are added to it by hand.
  return useMemo(frame, [])
}

function frame(): ComponentChild {
  return h(
    'div',
    { class: 'frame' },
    h(
      'nav',
      { id: 'nav', 'aria-label': 'Operations' },
      h(
        'div',
        { class: 'filter' },
        h('label', { class: 'hidden-label', for: 'filter' }, 'Filter by title, field or text'),
        h('input', {
          id: 'filter',
          type: 'search',
          placeholder: 'Title, field or text',
          autocomplete: 'off',
          spellcheck: false,
        }),
        h('kbd', { 'aria-hidden': 'true' }, '/'),
      ),
      h('div', { id: 'groups' }),
      h('p', { class: 'none', id: 'none', role: 'status' }),
    ),
    h(
      'div',
      { class: 'reference' },
      h(
        'div',
        { class: 'reference-bar' },
        h(
          'button',
          { class: 'button small menu', type: 'button', id: 'menu', 'aria-expanded': 'false', 'aria-controls': 'nav' },
          'Operations',
        ),
        h('span', { class: 'place' }, 'API reference ', h('span', { id: 'version' })),
        h('a', { class: 'quiet', href: '/openapi.json' }, 'openapi.json'),
        h('button', { class: 'button small', type: 'button', id: 'keys' }, h('span', { id: 'keys-state' }, 'Set keys')),
      ),
      h('div', { id: 'reference' }, h('p', { class: 'loading', role: 'status' }, 'Loading …')),
    ),
    h('dialog', { id: 'key-dialog', 'aria-labelledby': 'key-title' }),
  )
}

interface Page {
  readonly model: Model
  readonly parts: readonly Section[]
  readonly guides: readonly Section[]
  readonly groups: readonly HTMLElement[]
}

let page: Promise<Page> | null = null

async function buildPage(): Promise<Page> {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`the API description could not be loaded, status ${response.status}`)
  const [model, guides] = await Promise.all([response.json().then(readModel), loadGuides()])
  registerSchemes(model.schemes)
  const groups = model.groups.map((group) =>
    el(
      'section',
      { class: 'group', 'aria-label': group.name },
      el('div', { class: 'group-head' }, el('h2', {}, group.name), el('div', {}, markdown(group.description))),
      group.operations.map((operation) => operationView(model.description, operation)),
    ),
  )
  return { model, parts: overview(model), guides, groups }
}

async function show(signal: AbortSignal): Promise<void> {
  page ??= buildPage()
  try {
    const { model, parts, guides, groups } = await page
    if (signal.aborted) return
    fill(
      byId('reference'),
      parts.map(({ node }) => node),
      guides.map(({ node }) => node),
      groups,
    )
    byId('version').textContent = model.description.info.version
    wireNavigation(model, parts, guides, signal)
    wireKeyDialog(
      Object.keys(model.schemes),
      byId<HTMLDialogElement>('key-dialog'),
      byId('keys'),
      byId('keys-state'),
      signal,
    )
    addEventListener('hashchange', goToHash, { signal })
    goToHash()
  } catch (error) {
    page = null
    if (signal.aborted) return
    fill(
      byId('reference'),
      el('p', { class: 'loading', role: 'alert' }, `The reference could not be read: ${(error as Error).message}.`),
      el(
        'p',
        { class: 'loading' },
        el('button', { type: 'button', class: 'button', click: () => show(signal) }, 'Try again'),
      ),
    )
  }
}

/** Goes to the target of the address. The browser could not, because the target did not exist when the page loaded. */
function goToHash(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target !== null && byId('reference').contains(target)) goTo(target)
}
