import { TidemarkError } from '../platform/errors.ts'

/** An object in use is only deleted with --force; the error names that option. */
export async function deleteOrAdvise(remove: () => Promise<void>): Promise<void> {
  try {
    await remove()
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code !== 'in_use') throw error
    throw new TidemarkError('in_use', `${error.message}; use --force to delete it anyway`)
  }
}
