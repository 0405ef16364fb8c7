import { TidemarkError, UnavailableError } from '../platform/errors.ts'

/**
 * The messages between the two sides of a channel. Every call has a number.
 *
 *   to the other side    call          is answered by one reply, unless cancelled before
 *                        cancel        the caller has given up that call; gets `acknowledged` instead of a reply
 *                        end           no call follows; end when the earlier ones are done
 *   from it              started       sent once, when it is ready for calls
 *                        failed        sent instead of `started`: why it will never be ready
 *                        reply         a result or an error; the other side continues after an error
 *                        acknowledged  the reply to `cancel`; without it, the other side counts as hung
 *                        notification  unsolicited, for example progress
 */
export type CallerFrame =
  | { readonly call: number; readonly message: unknown }
  | { readonly cancel: number }
  | { readonly end: true }

export type AnswererFrame =
  | { readonly started: unknown }
  | { readonly failed: SentError }
  | { readonly reply: number; readonly result: unknown }
  | { readonly reply: number; readonly error: SentError }
  | { readonly acknowledged: number }
  | { readonly notification: unknown }

/** The structured clone of an error loses its class and its fields, so they are sent separately. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly cause: SentError | undefined
  readonly fields: Readonly<Record<string, unknown>>
}

export function sentError(error: unknown): SentError {
  const known = error instanceof Error ? error : new Error(String(error))
  const cause = known.cause instanceof Error ? sentError(known.cause) : undefined
  return { name: known.name, message: known.message, stack: known.stack, cause, fields: copyable({ ...known }) }
}

export function errorFromSent({ name, message, stack, cause, fields }: SentError): Error {
  const error = Object.assign(errorOfKind(name, message, fields), fields, { name })
  if (stack !== undefined) error.stack = stack
  if (cause !== undefined) error.cause = errorFromSent(cause)
  return error
}

function errorOfKind(name: string, message: string, { code }: SentError['fields']): Error {
  if (name === 'TidemarkError') return new TidemarkError(code as TidemarkError['code'], message)
  return name === 'UnavailableError' ? new UnavailableError(message) : new Error(message)
}

function copyable(fields: Record<string, unknown>): Record<string, unknown> {
  try {
    return structuredClone(fields)
  } catch {
    return {}
  }
}
