import { ApplicationInput, CollectorInput, KeyInput, RotateInput, TokenInput } from '../operator/schemas.ts'
import { TidemarkError } from '../platform/errors.ts'
import { detailsOf, messageOf, validatorFor } from '../platform/validation.ts'

const schemas = { ApplicationInput, CollectorInput, KeyInput, RotateInput, TokenInput }

/** Checks input from the command line against the schemas of the admin API. */
export function checkInput(name: keyof typeof schemas, input: unknown): void {
  const validate = validatorFor(schemas[name], 'body')
  if (!validate(input)) throw new TidemarkError('invalid_request', messageOf(detailsOf(validate.errors)))
}
