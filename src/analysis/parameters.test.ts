import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { TidemarkError } from '../errors.ts'
import { validatorFor } from '../validation.ts'
import { type AnalysisType, algorithms, analysisTypes, executed } from './algorithms.ts'
import { checkParameters } from './parameters.ts'

suite('the parameters of a run', () => {
  test('are all kept: as they were said, by default, or null', () => {
    assert.deepEqual(checkParameters('knn_graph', {}), { k: 30, min_similarity: null })
    assert.deepEqual(checkParameters('knn_graph', { k: 5 }), { k: 5, min_similarity: null })
    const both = checkParameters('knn_graph', { min_similarity: 0.5, k: 1 })
    assert.deepEqual(JSON.stringify(both), '{"k":1,"min_similarity":0.5}', 'in their own order')
  })

  test('what was sent is not changed', () => {
    const sent = {}
    checkParameters('knn_graph', sent)
    assert.deepEqual(sent, {})
  })

  const refused = (type: AnalysisType, given: Record<string, unknown>): readonly string[] => {
    try {
      checkParameters(type, given)
    } catch (error) {
      const { code, details, message } = error as TidemarkError
      assert.equal(code, 'invalid_analysis_request')
      for (const { path } of details!) assert.ok(message.includes(path), message)
      return details!.map(({ path, message: said }) => `${path} ${said}`)
    }
    return []
  }

  test('what is unknown, of another type or out of bounds is refused by its name', () => {
    for (const [given, ...faults] of [
      [{ k: 0 }, 'parameters.k must be at least 1'],
      [{ k: 101 }, 'parameters.k must be at most 100'],
      [{ k: 1.5 }, 'parameters.k must be a whole number'],
      [{ k: '5' }, 'parameters.k must be a whole number'],
      [{ min_similarity: null }, 'parameters.min_similarity must be a number'],
      [{ neighbours: 3 }, 'parameters.neighbours is not known here'],
      [{ k: 0, min_similarity: 2 }, 'parameters.k must be at least 1', 'parameters.min_similarity must be at most 1'],
    ] as const) {
      assert.deepEqual(refused('knn_graph', given), faults)
    }
  })

  test('a type that is not executed keeps none, and is asked with no others than the interface names', () => {
    for (const type of analysisTypes.filter((one) => algorithms[one].execute === null)) {
      assert.equal(checkParameters(type, { k: 1 }), null)
      assert.deepEqual(refused(type, { k: 0 }), ['parameters.k must be at least 1'])
      assert.deepEqual(refused(type, { threshold: 0.9 }), ['parameters.threshold is not known here'])
    }
  })
})

suite('every algorithm that is executed', () => {
  for (const { type, algorithm } of executed) {
    test(`${type} has parameters of bounded cost, and artifacts with columns`, () => {
      // Throws for a schema without bounds.
      validatorFor({ type: 'object', properties: algorithm.parameters }, 'body')
      assert.ok(Object.keys(algorithm.artifacts).length > 0)
      for (const { columns } of Object.values(algorithm.artifacts)) assert.ok(Object.keys(columns).length > 0)
    })
  }
})
