import type { Static, TSchema } from 'typebox'
import { TidemarkError } from '../errors.ts'
import { detailsOf, messageOf, validatorFor } from '../validation.ts'

/** The rules of the admin API hold for what is typed here too. */
export function checkInput<T extends TSchema>(schema: T, input: unknown): Static<T> {
  const validate = validatorFor(schema, 'body')
  if (validate(input)) return input as Static<T>
  throw new TidemarkError('invalid_request', messageOf(detailsOf(validate.errors)))
}
