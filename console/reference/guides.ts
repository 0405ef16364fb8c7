import { el } from '../shared/dom.ts'
import { markdown } from '../shared/markdown-light.ts'
import { snippet } from '../shared/snippet.ts'
import type { Section } from './overview.ts'

/** The files of the guides, in reading order. */
const names = ['first-search', 'backfill-and-follow', 'entitlements', 'collectors']

/** The address of the instance in the files of the guides. */
const exampleAddress = 'http://127.0.0.1:8080'

/** Loads the guides as sections of the page. Their code has this instance's address. */
export async function loadGuides(): Promise<readonly Section[]> {
  return Promise.all(
    names.map(async (name) => {
      const response = await fetch(`/assets/guides/${name}.md`)
      if (!response.ok) throw new Error(`the guide ${name} could not be loaded, status ${response.status}`)
      return guide(name, (await response.text()).replaceAll(exampleAddress, location.origin))
    }),
  )
}

/** Turns a title with prose and fenced code into a section. */
function guide(name: string, text: string): Section {
  const id = `guide-${name}`
  const title = /^# (.*)$/m.exec(text)?.[1] ?? name
  const parts = text.replace(/^# .*$/m, '').split(/^```(\w*)\n([\s\S]*?)^```$/m)
  const nodes: HTMLElement[] = [el('div', { class: 'prose' }, markdown(parts[0]))]
  // The parts are prose and then, for each fence, its language, its code and the prose after it.
  for (let at = 1; at < parts.length; at += 3) {
    const box = snippet(languages[parts[at]!] ?? parts[at]!)
    box.set(parts[at + 1]!.trimEnd())
    nodes.push(box.box, el('div', { class: 'prose' }, markdown(parts[at + 2])))
  }
  return { id, title, node: el('section', { class: 'intro', id }, el('h2', { tabindex: -1 }, title), nodes) }
}

const languages: Readonly<Record<string, string>> = { sh: 'curl', python: 'Python' }
