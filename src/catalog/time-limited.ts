import { TidemarkError } from '../errors.ts'

/**
 * The store's answer, or 503 when it does not come in time or the store is not there. What is asked is told when its
 * answer comes too late, so that it need not work on for nobody.
 */
export async function timeLimited<T>(limitMs: number, ask: (answerBy: number) => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable('the catalog did not answer in time', undefined)), limitMs)
  })
  try {
    return await Promise.race([ask(Date.now() + limitMs), late])
  } catch (error) {
    throw error instanceof TidemarkError ? error : unavailable('the catalog is not available', error)
  } finally {
    clearTimeout(timer)
  }
}

function unavailable(what: string, cause: unknown): TidemarkError {
  const message = `${what}: narrow the window and try again, with growing pauses`
  return new TidemarkError('catalog_unavailable', message, { retryAfterSeconds: 1, cause })
}
