import { TidemarkError } from '../errors.ts'

/** What is in use is not deleted, unless it is asked for: which is said in the words of the command line. */
export async function deleteOrAdvise(remove: () => Promise<void>): Promise<void> {
  try {
    await remove()
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code !== 'in_use') throw error
    throw new TidemarkError('in_use', `${error.message}; use --force to delete it anyway`)
  }
}
