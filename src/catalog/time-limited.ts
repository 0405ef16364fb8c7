import { TidemarkError, UnavailableError } from '../errors.ts'

/**
 * The store's answer, or 503 when it does not come in time. What is asked is told when its answer comes too late, so
 * that it need not work on for nobody.
 */
export async function timeLimited<T>(limitMs: number, ask: (answerBy: number) => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const answerBy = Date.now() + limitMs
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(tooLate(new UnavailableError(`no answer of the store within ${limitMs} ms`))),
      limitMs,
    )
  })
  try {
    return await Promise.race([ask(answerBy), late])
  } catch (error) {
    // The store looked at the time itself, and its word came before the timer was heard.
    throw error instanceof UnavailableError && Date.now() >= answerBy ? tooLate(error) : error
  } finally {
    clearTimeout(timer)
  }
}

function tooLate(cause: UnavailableError): TidemarkError {
  const message = 'the catalog did not answer in time: narrow the window and try again, with growing pauses'
  return new TidemarkError('catalog_unavailable', message, { retryAfterSeconds: 1, cause })
}
