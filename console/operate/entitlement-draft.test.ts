import assert from 'node:assert/strict'
import { test } from 'node:test'
import { draftOf, emptyDraft, entryOf } from './entitlement-draft.ts'

test('an untouched entry is sent unchanged', () => {
  const entries = [
    { datasets: ['news'] },
    {
      datasets: ['news', 'video'],
      platforms: ['rss', 'board'],
      languages: ['en'],
      regions: ['GB'],
      published_from: '2026-01-01T10:30:00Z',
      published_to: '2026-02-01T00:00:00Z',
      fields: ['title'],
    },
  ]
  for (const entry of entries) assert.deepEqual(entryOf(draftOf(entry)), entry)
})

test('lists are split at commas, without duplicates; a day starts at midnight; empty limits are left out', () => {
  const typed = { ...emptyDraft, datasets: ['news'], languages: ' en ,de,, en', from: ' 2026-01-01 ', regions: ' , ' }
  assert.deepEqual(entryOf(typed), {
    datasets: ['news'],
    languages: ['en', 'de'],
    published_from: '2026-01-01T00:00:00Z',
  })
})
