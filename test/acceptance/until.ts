import assert from 'node:assert/strict'

/** Asks again until the answer is yes; fails when it is still no after that long. For what is promised "within" a time. */
export async function until(what: string, withinMs: number, ask: () => Promise<boolean>): Promise<number> {
  const started = performance.now()
  for (;;) {
    if (await ask()) return performance.now() - started
    assert.ok(performance.now() - started < withinMs, `not within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
