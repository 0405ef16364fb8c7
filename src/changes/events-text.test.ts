import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { eventTypes } from './change-log.ts'
import { eventsText } from './events-text.ts'

suite('events as text', () => {
  test('are the JSON of every event, whatever its names', () => {
    const id = fc.stringMatching(/^[a-z]{3}_[0-9a-z]{26}$/)
    const time = fc.integer({ min: Date.UTC(1000, 0), max: Date.UTC(9999, 0) })
    const event = fc.record({
      sequence: fc.nat(),
      event_id: id,
      event_type: fc.constantFrom<string>(...eventTypes),
      dataset_id: fc.string({ unit: 'binary' }),
      source_platform: fc.string({ unit: 'grapheme' }),
      document_id: id,
      version_id: fc.option(id, { nil: null }),
      changed_fields: fc.array(fc.string()).map((names) => JSON.stringify(names)),
      occurred_at: time,
      observed_at: time,
      ingested_at: time,
    })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), (events) => {
        assert.deepEqual(
          JSON.parse(`[${eventsText(events)}]`),
          events.map(({ version_id, ...one }) => ({
            ...one,
            schema_version: 1,
            ...(version_id === null ? {} : { version_id }),
            changed_fields: JSON.parse(one.changed_fields),
            occurred_at: new Date(one.occurred_at).toISOString(),
            observed_at: new Date(one.observed_at).toISOString(),
            ingested_at: new Date(one.ingested_at).toISOString(),
          })),
        )
      }),
    )
  })
})
