import { TidemarkError, UnavailableError } from '../platform/errors.ts'

/**
 * Returns the result of `work`, or throws a 503 if it takes longer than `limitMs`. The store gets the deadline too, so
 * that it stops working when the caller no longer waits.
 */
export async function timeLimited<T>(limitMs: number, work: (answerBy: number) => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const answerBy = Date.now() + limitMs
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(tooLate(new UnavailableError(`no answer from the store within ${limitMs} ms`))),
      limitMs,
    )
  })
  try {
    return await Promise.race([work(answerBy), late])
  } catch (error) {
    // The store checked the deadline itself, and its error arrived before the timer fired.
    throw error instanceof UnavailableError && Date.now() >= answerBy ? tooLate(error) : error
  } finally {
    clearTimeout(timer)
  }
}

function tooLate(cause: UnavailableError): TidemarkError {
  const message = 'the catalog did not answer in time: narrow the window and try again, with growing pauses'
  return new TidemarkError('catalog_unavailable', message, { retryAfterSeconds: 1, cause })
}
