import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

/** Longer than anything takes on a busy machine. */
const patienceMs = 150_000
const [firstDelayMs, delayMaxMs, growth] = [5, 100, 1.4]

/**
 * Polls a condition until it is true. Intervals grow, because polling takes time from the process that it waits for.
 */
export async function until(what: string, isTrue: () => Promise<boolean> | boolean): Promise<void> {
  const started = performance.now()
  for (let delayMs = firstDelayMs; !(await isTrue()); delayMs = Math.min(delayMaxMs, delayMs * growth)) {
    assert.ok(performance.now() - started < patienceMs, `timed out waiting until ${what}`)
    await delay(delayMs)
  }
}
