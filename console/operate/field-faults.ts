import { ApiError, inWords } from '../app/call-api.ts'

/** An error in a field of a form. */
export interface FieldFault {
  /** The path in the request, such as `entitlements.0.languages.0`. */
  readonly path: string
  readonly message: string
}

export const faultsOf = (error: unknown): readonly FieldFault[] => (error instanceof ApiError ? error.details : [])

/** Returns an error in words, with the form's names for its fields; null for a request that was aborted. */
export function faultInWords(error: unknown, nameOf: (path: string) => string | null): string | null {
  const named = faultsOf(error).map(({ path, message }) => [nameOf(path), message] as const)
  if (named.length === 0 || named.some(([name]) => name === null)) return inWords(error)
  return named.map(([name, message]) => `${name}: ${message}.`).join(' ')
}
