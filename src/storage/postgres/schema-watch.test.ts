import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Incidents } from '../../platform/incidents.ts'
import { SchemaWatch } from './schema-watch.ts'

test('it checks again and again, reports a failed check, and keeps the last result until the next', async (t) => {
  const results: (boolean | Error)[] = [false, true, new Error('away'), false]
  const reported: string[] = []
  const seen = new EventTarget()
  const next = () => once(seen, 'check')
  const report = (what: string): void => {
    reported.push(what)
    seen.dispatchEvent(new Event('check'))
  }
  const incidents: Incidents = {
    failed: (job, error) => report(`${job}: ${(error as Error).message}`),
    worked: () => report(String(watch.isTooNew)),
  }
  const watch = new SchemaWatch(async () => {
    const found = results.shift() ?? false
    if (found instanceof Error) throw found
    return found
  }, 1)
  // The watch keeps no process alive, so the test must.
  const alive = setInterval(() => {}, 1000)
  t.after(() => {
    clearInterval(alive)
    watch.close()
  })
  assert.equal(watch.isTooNew, false)
  watch.start().reportTo(incidents)
  for (let i = 0; i < 4; i++) {
    await next()
    if (i === 2) assert.equal(watch.isTooNew, true)
  }
  assert.deepEqual(reported.slice(0, 4), ['false', 'true', 'schema-watch: away', 'false'])
})
