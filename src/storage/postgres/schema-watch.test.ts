import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Incidents } from '../../platform/incidents.ts'
import { SchemaWatch } from './schema-watch.ts'

test('it checks again and again, reports a failed check, and keeps the last result until the next', async (t) => {
  const looks: (boolean | Error)[] = [false, true, new Error('away'), false]
  const told: string[] = []
  const seen = new EventTarget()
  const next = () => once(seen, 'look')
  const tell = (what: string): void => {
    told.push(what)
    seen.dispatchEvent(new Event('look'))
  }
  const incidents: Incidents = {
    failed: (job, error) => tell(`${job}: ${(error as Error).message}`),
    worked: () => tell(String(watch.isBeyond)),
  }
  const watch = new SchemaWatch(async () => {
    const found = looks.shift() ?? false
    if (found instanceof Error) throw found
    return found
  }, 1)
  // The watch keeps no process alive, so the test must.
  const alive = setInterval(() => {}, 1000)
  t.after(() => {
    clearInterval(alive)
    watch.close()
  })
  assert.equal(watch.isBeyond, false)
  watch.start().reportTo(incidents)
  for (let i = 0; i < 4; i++) {
    await next()
    if (i === 2) assert.equal(watch.isBeyond, true)
  }
  assert.deepEqual(told.slice(0, 4), ['false', 'true', 'schema-watch: away', 'false'])
})
