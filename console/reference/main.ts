import { byId, el, fill } from '../shared/dom.ts'
import { markdown } from '../shared/markdown-light.ts'
import { knowSchemes, wireKeyDialog } from './credentials.ts'
import { loadGuides } from './guides.ts'
import { wireNavigation } from './navigation.ts'
import { type Model, readModel } from './openapi-model.ts'
import { operationView } from './operation-view.ts'
import { overview, type Section } from './overview.ts'
import { goTo } from './places.ts'

const main = byId('main')

async function load(): Promise<Model> {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`the description answers ${response.status}`)
  return readModel(await response.json())
}

function show(model: Model, guides: readonly Section[]): void {
  knowSchemes(model.schemes)
  const parts = overview(model)
  const groups = model.groups.map((group) =>
    el(
      'section',
      { class: 'group', 'aria-label': group.name },
      el('div', { class: 'group-head' }, el('h2', {}, group.name), el('div', {}, markdown(group.description))),
      group.operations.map((operation) => operationView(model.description, operation)),
    ),
  )
  fill(
    main,
    parts.map(({ node }) => node),
    guides.map(({ node }) => node),
    groups,
  )
  byId('version').textContent = model.description.info.version
  wireNavigation(model, parts, guides)
  wireKeyDialog(Object.keys(model.schemes), byId<HTMLDialogElement>('key-dialog'), byId('keys'), byId('keys-state'))
  window.addEventListener('hashchange', goToHash)
  goToHash()
}

/** The browser cannot have gone to the link's part by itself: it was made after the page had loaded. */
function goToHash(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target && target !== main) goTo(target)
}

Promise.all([load(), loadGuides()])
  .then(([model, guides]) => show(model, guides))
  .catch((error) => {
    fill(
      main,
      el('p', { class: 'loading', role: 'alert' }, `The reference could not be read: ${error.message}.`),
      el('p', { class: 'loading' }, el('a', { href: '/docs' }, 'Try again')),
    )
  })
