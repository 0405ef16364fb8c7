import { TidemarkError } from '../platform/errors.ts'

/** Deletes an object. If it is in use, the error names the option --force. */
export async function deleteOrAdvise(remove: () => Promise<void>): Promise<void> {
  try {
    await remove()
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code !== 'in_use') throw error
    throw new TidemarkError('in_use', `${error.message}; use --force to delete it anyway`)
  }
}
