import { TidemarkError } from '../errors.ts'

type Input = 'ApplicationInput' | 'CollectorInput' | 'KeyInput' | 'RotateInput' | 'TokenInput'

/** The rules of the admin API hold for what is typed here too. Loaded when needed: commands that only read do without. */
export async function checkInput(name: Input, input: unknown): Promise<void> {
  const { [name]: schema } = await import('../operator/schemas.ts')
  const { detailsOf, messageOf, validatorFor } = await import('../validation.ts')
  const validate = validatorFor(schema, 'body')
  if (!validate(input)) throw new TidemarkError('invalid_request', messageOf(detailsOf(validate.errors)))
}
