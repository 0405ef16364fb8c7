import { ApiError } from './call-api.ts'

/** The server's errors by field path. An error in a list item is shown at the list. */
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
