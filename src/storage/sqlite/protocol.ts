import { type ErrorCode, type ErrorDetail, TidemarkError } from '../../errors.ts'

/**
 * What the main thread and a database thread say to each other: one call of one method of one port at a time, each
 * answered by its number. Arguments and results are plain data.
 */
export interface Call {
  readonly number: number
  readonly port: string
  readonly method: string
  readonly args: readonly unknown[]
}

export type Answer =
  | { readonly number: number; readonly result: unknown }
  | { readonly number: number; readonly error: SentError }

interface SentError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: ErrorCode | null
  readonly details: readonly ErrorDetail[] | undefined
}

/** Structured cloning drops the class and fields of an error, so they travel by hand. */
export function sendable(error: unknown): SentError {
  const known = error instanceof Error ? error : new Error(String(error))
  const domain = error instanceof TidemarkError ? error : null
  return {
    name: known.name,
    message: known.message,
    stack: known.stack,
    code: domain?.code ?? null,
    details: domain?.details,
  }
}

export function received(sent: SentError): Error {
  if (sent.code !== null) {
    return new TidemarkError(sent.code, sent.message, sent.details === undefined ? {} : { details: sent.details })
  }
  const error = new Error(sent.message)
  error.name = sent.name
  if (sent.stack !== undefined) error.stack = sent.stack
  return error
}
