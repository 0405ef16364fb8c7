import { ApplicationInput, CollectorInput, KeyInput, RotateInput, TokenInput } from '../operator/schemas.ts'
import { TidemarkError } from '../platform/errors.ts'
import { detailsOf, messageOf, validatorFor } from '../platform/validation.ts'

const schemas = { ApplicationInput, CollectorInput, KeyInput, RotateInput, TokenInput }

/** Checks typed input by the rules of the admin API. */
export function checkInput(name: keyof typeof schemas, input: unknown): void {
  const validate = validatorFor(schemas[name], 'body')
  if (!validate(input)) throw new TidemarkError('invalid_request', messageOf(detailsOf(validate.errors)))
}
