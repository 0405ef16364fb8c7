import { ApiError, inWords } from '../app/ask.ts'

/** What is wrong with a field of a form. */
export interface FieldFault {
  /** As the request has it: `entitlements.0.languages.0`. */
  readonly path: string
  readonly message: string
}

export const faultsOf = (error: unknown): readonly FieldFault[] => (error instanceof ApiError ? error.details : [])

/** The same in a sentence, with the names that the form has for its fields; null where nothing is to be said. */
export function faultInWords(error: unknown, nameOf: (path: string) => string | null): string | null {
  const named = faultsOf(error).map(({ path, message }) => [nameOf(path), message] as const)
  if (named.length === 0 || named.some(([name]) => name === null)) return inWords(error)
  return named.map(([name, message]) => `${name}: ${message}.`).join(' ')
}
