import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type AnalysisType, analysisTypes as typesOfPolicies } from '../access/analysis-types.ts'
import type { TidemarkError } from '../platform/errors.ts'
import { validatorFor } from '../platform/validation.ts'
import { algorithmEntries } from './algorithms.ts'
import { checkParameters, needsOf } from './parameters.ts'

suite('the parameters of a run', () => {
  test('are all stored: as sent, by default, or null', () => {
    assert.deepEqual(checkParameters('knn_graph', {}, true), { k: 30, min_similarity: null })
    assert.deepEqual(checkParameters('knn_graph', { k: 5 }, true), { k: 5, min_similarity: null })
    const both = checkParameters('knn_graph', { min_similarity: 0.5, k: 1 }, true)
    assert.deepEqual(JSON.stringify(both), '{"k":1,"min_similarity":0.5}', 'in their own order')
  })

  test('sent values are unchanged', () => {
    const sent = {}
    checkParameters('knn_graph', sent, true)
    assert.deepEqual(sent, {})
  })

  const refused = (type: AnalysisType, given: Record<string, unknown>, isExecuted = true): readonly string[] => {
    try {
      checkParameters(type, given, isExecuted)
    } catch (error) {
      const { code, details, message } = error as TidemarkError
      assert.equal(code, 'invalid_analysis_request')
      for (const { path } of details!) assert.ok(message.includes(path), message)
      return details!.map(({ path, message: fault }) => `${path} ${fault}`)
    }
    return []
  }

  test('a parameter that is unknown, of another type or out of bounds is refused by its name', () => {
    for (const [given, ...faults] of [
      [{ k: 0 }, 'parameters.k must be at least 1'],
      [{ k: 101 }, 'parameters.k must be at most 100'],
      [{ k: 1.5 }, 'parameters.k must be a whole number'],
      [{ k: '5' }, 'parameters.k must be a whole number'],
      [{ min_similarity: null }, 'parameters.min_similarity must be a number'],
      [{ neighbours: 3 }, 'parameters.neighbours unknown field'],
      [{ k: 0, min_similarity: 2 }, 'parameters.k must be at least 1', 'parameters.min_similarity must be at most 1'],
    ] as const) {
      assert.deepEqual(refused('knn_graph', given), faults)
    }
  })

  test('a type that is not executed stores none, and accepts only those of knn_graph', () => {
    for (const [type] of algorithmEntries) {
      assert.equal(checkParameters(type, { k: 1 }, false), null)
      assert.deepEqual(refused(type, { k: 0 }, false), ['parameters.k must be at least 1'])
      assert.deepEqual(refused(type, { threshold: 0.9 }, false), ['parameters.threshold unknown field'])
    }
  })

  test('of a rollup', () => {
    assert.deepEqual(checkParameters('feature_rollup', { by: ['topic'] }, true), { by: ['topic'], bucket: null })
    for (const [given, ...faults] of [
      [{}, 'parameters.by is required'],
      [{ by: [] }, 'parameters.by must not be empty'],
      [{ by: ['platform', 'title'] }, /^parameters\.by\.1 must be one of dataset, platform/],
      [{ by: ['dataset', 'platform', 'language', 'region', 'tag'] }, /^parameters\.by must .*4/],
      [{ by: ['tag'], bucket: 'year' }, /^parameters\.bucket must be one of day, week, month/],
      [{ by: ['tag'], k: 3 }, 'parameters.k unknown field'],
    ] as const) {
      const found = refused('feature_rollup', given)
      for (const [i, fault] of faults.entries()) {
        if (typeof fault === 'string') assert.equal(found[i], fault)
        else assert.match(found[i]!, fault)
      }
    }
  })

  test('of a deduplication', () => {
    assert.deepEqual(checkParameters('deduplication', {}, true), { threshold: 0.95 })
    for (const [threshold, fault] of [
      [0.49, 'must be at least 0.5'],
      [1.01, 'must be at most 1'],
      ['1', 'must be a number'],
    ] as const) {
      assert.deepEqual(refused('deduplication', { threshold }), [`parameters.threshold ${fault}`])
    }
  })

  test('of a clustering', () => {
    assert.deepEqual(checkParameters('clustering', {}, true), { min_cluster_size: 5, resolution: 1 })
    for (const [given, fault] of [
      [{ min_cluster_size: 1 }, 'min_cluster_size must be at least 2'],
      [{ min_cluster_size: 1001 }, 'min_cluster_size must be at most 1000'],
      [{ min_cluster_size: 2.5 }, 'min_cluster_size must be a whole number'],
      [{ resolution: 0 }, 'resolution must be at least 0.01'],
      [{ resolution: 101 }, 'resolution must be at most 100'],
      [{ threshold: 1 }, 'threshold unknown field'],
    ] as const) {
      assert.deepEqual(refused('clustering', given), [`parameters.${fault}`])
    }
  })

  test('need the permission of each named field, and vectors need the body', () => {
    const needsOfRollup = (...by: string[]) => needsOf('feature_rollup', { by, bucket: null })
    assert.deepEqual(needsOfRollup('dataset', 'platform', 'language', 'region'), [])
    assert.deepEqual(needsOfRollup('author', 'tag', 'classification'), [
      ['author', 'metadata'],
      ['metadata'],
      ['facts'],
    ])
    assert.deepEqual(needsOfRollup('content_type', 'topic'), [['metadata']])
    assert.deepEqual(needsOf('knn_graph', { k: 1, min_similarity: null }), [['body']])
    assert.deepEqual(needsOf('feature_rollup', null), [['body']])
  })

  test('policies can name exactly the types that exist', () => {
    assert.deepEqual(
      algorithmEntries.map(([type]) => type),
      [...typesOfPolicies],
    )
  })
})

suite('every algorithm', () => {
  for (const [type, algorithm] of algorithmEntries) {
    test(`${type} has parameters of bounded cost, and artifacts with columns`, () => {
      // Throws for a schema without bounds.
      validatorFor({ type: 'object', properties: algorithm.parameters }, 'body')
      assert.ok(Object.keys(algorithm.artifacts).length > 0)
      for (const { columns } of Object.values(algorithm.artifacts))
        assert.ok(columns === null || Object.keys(columns).length > 0)
    })
  }
})
