/**
 * Runs `work` with a signal that aborts after `timeoutMs` or with `parent`, whichever is first. Timer and listener are
 * removed when `work` has settled, so that they do not accumulate. A timeout of 0 or less aborts at once.
 */
export async function withDeadline<T>(
  timeoutMs: number,
  parent: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const onParent = (): void => controller.abort(parent?.reason)
  const late = (): void => controller.abort(new DOMException('the time limit has passed', 'TimeoutError'))
  const timer = setTimeout(late, Math.max(0, timeoutMs))
  parent?.addEventListener('abort', onParent, { once: true })
  if (parent?.aborted) onParent()
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    parent?.removeEventListener('abort', onParent)
  }
}
