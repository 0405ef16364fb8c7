import { signal } from '@preact/signals'
import { type CodeLanguage, codeLanguages } from './request-code.ts'

/** The language of all code samples, which the reader chooses once. It is stored for the next visit under this key. */
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
    // Storage may be disabled. Then the choice is lost when the page is closed or reloaded.
  }
}
