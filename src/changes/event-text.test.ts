import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { eventTypes } from './change-log.ts'
import { eventsText } from './event-text.ts'

suite('events as text', () => {
  test('are the JSON of every event, whatever its names', () => {
    const id = fc.stringMatching(/^[a-z]{3}_[0-9a-z]{26}$/)
    const time = fc.integer({ min: Date.UTC(1000, 0), max: Date.UTC(9999, 0) })
    const event = fc.record({
      sequence: fc.nat(),
      eventId: id,
      eventType: fc.constantFrom<string>(...eventTypes),
      datasetId: fc.string({ unit: 'binary' }),
      platform: fc.string({ unit: 'grapheme' }),
      documentId: id,
      versionId: fc.option(id, { nil: null }),
      changedFields: fc.array(fc.string()),
      occurredAt: time,
      observedAt: time,
      ingestedAt: time,
    })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 5 }), (events) => {
        assert.deepEqual(
          JSON.parse(`[${eventsText(events)}]`),
          events.map((one) => ({
            sequence: one.sequence,
            event_id: one.eventId,
            schema_version: 1,
            event_type: one.eventType,
            dataset_id: one.datasetId,
            source_platform: one.platform,
            document_id: one.documentId,
            ...(one.versionId === null ? {} : { version_id: one.versionId }),
            changed_fields: one.changedFields,
            occurred_at: new Date(one.occurredAt).toISOString(),
            observed_at: new Date(one.observedAt).toISOString(),
            ingested_at: new Date(one.ingestedAt).toISOString(),
          })),
        )
      }),
    )
  })
})
