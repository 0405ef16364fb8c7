import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnalysisDraft, initialParameters, missingIn, requestOfDraft } from './analysis-request.ts'
import { analysisTypes } from './analysis-types.ts'

const draft: AnalysisDraft = {
  type: 'knn_graph',
  datasets: ['news'],
  platforms: '',
  languages: '',
  from: '',
  to: '',
  parameters: {},
  subscription: null,
}

test('empty fields are left out of the request', () => {
  assert.deepEqual(requestOfDraft(draft, 'bge'), {
    analysis_type: 'knn_graph',
    embedding_profile_id: 'bge',
    input_scope: { dataset_ids: ['news'] },
  })
})

test('lists are split, and the last day is included, also at the end of a year', () => {
  const { input_scope } = requestOfDraft(
    { ...draft, platforms: 'rss, forum rss', languages: 'en', from: '2026-12-01', to: '2026-12-31' },
    'bge',
  )
  assert.deepEqual(input_scope, {
    dataset_ids: ['news'],
    source_platforms: ['rss', 'forum'],
    languages: ['en'],
    published_from: '2026-12-01T00:00:00Z',
    published_to: '2027-01-01T00:00:00Z',
  })
})

test('counts need no vectors; a subscription has a name and a schedule', () => {
  const subscription = { name: 'By day', mode: 'scheduled', hours: 1.5 } as const
  assert.deepEqual(
    requestOfDraft({ ...draft, type: 'feature_rollup', parameters: { by: ['platform'] }, subscription }, 'bge'),
    {
      name: 'By day',
      analysis_type: 'feature_rollup',
      input_scope: { dataset_ids: ['news'] },
      parameters: { by: ['platform'] },
      execution_mode: 'scheduled',
      interval_seconds: 5_400,
    },
  )
  const onChange = requestOfDraft({ ...draft, subscription: { ...subscription, mode: 'on_change' } }, 'bge')
  assert.equal('interval_seconds' in onChange, false)
})

test('an untouched form can be sent for every type; a missing value is named', () => {
  for (const type of analysisTypes)
    assert.equal(missingIn({ ...draft, type, parameters: initialParameters(type) }), null)
  assert.match(missingIn({ ...draft, type: 'feature_rollup' })!, /to count by/)
  assert.match(missingIn({ ...draft, datasets: [] })!, /dataset/)
})
