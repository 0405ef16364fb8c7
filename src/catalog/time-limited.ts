import { TidemarkError, UnavailableError } from '../errors.ts'

/**
 * The store's answer, or 503 when it does not come in time. What is asked is told when its answer comes too late, so
 * that it need not work on for nobody.
 */
export async function timeLimited<T>(limitMs: number, ask: (answerBy: number) => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooLate(limitMs)), limitMs)
  })
  try {
    return await Promise.race([ask(Date.now() + limitMs), late])
  } finally {
    clearTimeout(timer)
  }
}

function tooLate(limitMs: number): TidemarkError {
  const message = 'the catalog did not answer in time: narrow the window and try again, with growing pauses'
  const cause = new UnavailableError(`no answer of the store within ${limitMs} ms`)
  return new TidemarkError('catalog_unavailable', message, { retryAfterSeconds: 1, cause })
}
