import { chooseLanguage, codeLanguage } from '../shared/code-language.ts'
import { el } from '../shared/dom.ts'
import { codeLanguages } from '../shared/request-code.ts'

export function languageSwitch(): HTMLElement {
  const buttons = codeLanguages.map((language) => {
    const button = el('button', { type: 'button', click: () => chooseLanguage(language) }, language)
    codeLanguage.subscribe((now) => button.setAttribute('aria-pressed', String(now === language)))
    return button
  })
  return el('span', { class: 'languages', role: 'group', 'aria-label': 'Language' }, buttons)
}
