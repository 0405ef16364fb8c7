import { wireKeyDialog } from './credentials.js'
import { el, fill } from './dom.js'
import { markdown } from './markdown-light.js'
import { wireNavigation } from './navigation.js'
import { readModel } from './openapi-model.js'
import { operationView } from './operation-view.js'
import { overview } from './overview.js'

const main = document.getElementById('main')

async function load() {
  const response = await fetch('/openapi.json')
  if (!response.ok) throw new Error(`the description answers ${response.status}`)
  return readModel(await response.json())
}

function show(model) {
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
    groups,
  )
  document.getElementById('version').textContent = model.description.info.version
  wireNavigation(model, parts)
  wireKeyDialog(
    model.schemes,
    document.getElementById('key-dialog'),
    document.getElementById('keys'),
    document.getElementById('keys-state'),
  )
  window.addEventListener('hashchange', goToHash)
  goToHash()
}

/** The parts are made after the page has loaded, so the browser cannot have gone to the link's part by itself. */
function goToHash() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (!target || target === main) return
  target.scrollIntoView({ behavior: 'instant' })
  target.querySelector('[tabindex="-1"]')?.focus({ preventScroll: true })
}

load()
  .then(show)
  .catch((error) => {
    fill(
      main,
      el('p', { class: 'loading', role: 'alert' }, `The description could not be read: ${error.message}.`),
      el('p', { class: 'loading' }, el('a', { href: '/docs' }, 'Try again')),
    )
  })
