import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'

/** Longer than anything takes on the busiest machine. Benchmarks measure speed, not this. */
const patienceMs = 150_000
const [firstRestMs, restMaxMs, growth] = [5, 100, 1.4]

/**
 * Polls until the answer is true, at growing intervals, because polling takes time from the process that it waits for.
 */
export async function until(what: string, ask: () => Promise<boolean> | boolean): Promise<void> {
  const started = performance.now()
  for (let restMs = firstRestMs; !(await ask()); restMs = Math.min(restMaxMs, restMs * growth)) {
    assert.ok(performance.now() - started < patienceMs, `waited in vain: ${what}`)
    await delay(restMs)
  }
}
