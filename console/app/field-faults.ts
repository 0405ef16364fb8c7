import { ApiError } from './ask.ts'

/** What the server finds wrong with the fields of a request, by their paths: those of a list are told at the list. */
export type FieldFaults = ReadonlyMap<string, string>

export const noFaults: FieldFaults = new Map()

export function fieldFaults(error: unknown): FieldFaults {
  if (!(error instanceof ApiError)) return noFaults
  return new Map(
    error.details.map(({ path, message }) => [
      path.replace(/(\.\d+)+$/, ''),
      `${message.charAt(0).toUpperCase()}${message.slice(1)}.`,
    ]),
  )
}
