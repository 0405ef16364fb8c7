import assert from 'node:assert/strict'
import { test } from 'node:test'
import { degreesOf, type EdgeRow, graphOfEdges, neighboursOf } from './graph-of-edges.ts'

const edge = (source: string, target: string, rank: number, similarity: number): EdgeRow => ({
  source_subject_id: source,
  target_subject_id: target,
  source_document_id: `of ${source}`,
  target_document_id: `of ${target}`,
  rank,
  similarity,
})

test('a pair of neighbours is one edge, and a stronger one if it is listed in both directions', () => {
  const graph = graphOfEdges([
    edge('a', 'c', 2, 0.5),
    edge('a', 'b', 1, 0.9),
    edge('b', 'a', 1, 0.9),
    edge('c', 'a', 1, 0.5),
  ])
  assert.deepEqual(graph.subjectIds, ['a', 'c', 'b'])
  assert.deepEqual(graph.documentIds, ['of a', 'of c', 'of b'])
  // The strongest edges come first.
  assert.deepEqual([...graph.edges], [0, 2, 0, 1])
  assert.deepEqual([...graph.strengths], [2, 1.25])
  assert.deepEqual([...degreesOf(graph)], [2, 1, 1])
  assert.deepEqual(
    neighboursOf(graph, 0).map(({ node, similarity }) => [graph.subjectIds[node], similarity.toFixed(1)]),
    [
      ['b', '0.9'],
      ['c', '0.5'],
    ],
  )
})

test('no edges give an empty graph', () => {
  const graph = graphOfEdges([])
  assert.deepEqual([graph.subjectIds.length, graph.edges.length], [0, 0])
})
