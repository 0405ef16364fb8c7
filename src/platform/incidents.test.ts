import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { TidemarkError, UnavailableError } from './errors.ts'
import { LoggedIncidents } from './incidents.ts'
import { silentMeasures } from './measures.ts'

function watched() {
  const lines: string[] = []
  const counts: string[] = []
  const log = (level: string) => (line: unknown) => {
    const { job, err, run } = line as { job: string; err?: Error; run?: string }
    lines.push([level, job, err?.message, run].filter((part) => part !== undefined).join(' '))
  }
  const logger = { error: log('error'), warn: log('warn'), info: log('info') }
  const counted = {
    ...silentMeasures,
    counter: () => (labels: object, by?: number) => void counts.push(`${Object.values(labels)}${by ?? ''}`),
  }
  const incidents = new LoggedIncidents(logger, counted)
  return { incidents, lines, counts }
}

suite('incidents', () => {
  test('each failure is counted; a cause is logged once until the job has succeeded again, which is logged too', () => {
    const { incidents, lines, counts } = watched()
    incidents.worked('a')
    for (let i = 0; i < 3; i++) incidents.failed('a', new UnavailableError('down'))
    incidents.failed('b', new UnavailableError('down'))
    incidents.worked('a')
    incidents.worked('a')
    incidents.failed('a', new UnavailableError('down'))
    assert.deepEqual(lines, ['warn a down', 'warn b down', 'info a', 'warn a down'])
    assert.deepEqual(counts, ['a0', 'a', 'a', 'a', 'b', 'a'], 'a job is registered before it fails')
  })

  test('another cause in the same series is logged, so that an outage does not hide a defect', () => {
    const { incidents, lines } = watched()
    incidents.failed('a', new TidemarkError('store_unavailable', 'away'))
    incidents.failed('a', new TypeError('x is undefined'))
    incidents.failed('a', new TidemarkError('store_unavailable', 'away'))
    assert.deepEqual(lines, ['warn a away', 'error a x is undefined'])
  })

  test('different pieces of work are logged separately', () => {
    const { incidents, lines } = watched()
    for (const run of ['1', '2', '2']) incidents.failed('a', new Error('no'), { run })
    assert.deepEqual(lines, ['error a no 1', 'error a no 2'])
  })

  test('messages that are never the same do not fill the memory', () => {
    const { incidents, counts } = watched()
    for (let i = 0; i < 10_000; i++) incidents.failed('a', new Error(`at ${i}`))
    assert.equal(counts.length, 10_000)
  })
})
