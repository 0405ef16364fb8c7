import { signal } from '@preact/signals'
import { type CodeLanguage, codeLanguages } from './request-code.ts'

/**
 * The language of all code samples. It is chosen in one place, changes everywhere, and is stored for the next visit.
 */
const key = 'tidemark.language'

export const codeLanguage = signal<CodeLanguage>(stored())

function stored(): CodeLanguage {
  try {
    const name = localStorage.getItem(key)
    return codeLanguages.find((language) => language === name) ?? 'curl'
  } catch {
    return 'curl'
  }
}

export function chooseLanguage(language: CodeLanguage): void {
  codeLanguage.value = language
  try {
    localStorage.setItem(key, language)
  } catch {
    // Storage may be disabled. Then the choice lasts as long as the page.
  }
}
