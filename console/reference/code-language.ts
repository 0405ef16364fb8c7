import { el } from '../shared/dom.ts'
import { type CodeLanguage, codeLanguages } from './request-code.ts'

/** The language of all code on the page: chosen in one place, changed everywhere, and kept for the next visit. */
const key = 'tidemark.language'
const listeners = new Set<(language: CodeLanguage) => void>()
let chosen = stored()

function stored(): CodeLanguage {
  try {
    const name = localStorage.getItem(key)
    return codeLanguages.find((language) => language === name) ?? 'curl'
  } catch {
    return 'curl'
  }
}

function choose(language: CodeLanguage): void {
  chosen = language
  try {
    localStorage.setItem(key, language)
  } catch {
    // Storage may be switched off; then the choice lasts as long as the page.
  }
  for (const listener of listeners) listener(language)
}

/** Calls `show` with the chosen language, now and whenever it changes. */
export function withLanguage(show: (language: CodeLanguage) => void): void {
  listeners.add(show)
  show(chosen)
}

/** The chosen language at this moment. */
export const currentLanguage = (): CodeLanguage => chosen

export function languageSwitch(): HTMLElement {
  const buttons = codeLanguages.map((language) => {
    const button = el('button', { type: 'button', click: () => choose(language) }, language)
    withLanguage((now) => button.setAttribute('aria-pressed', String(now === language)))
    return button
  })
  return el('span', { class: 'languages', role: 'group', 'aria-label': 'Language' }, buttons)
}
