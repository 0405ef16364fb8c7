/** A process that finds all neighbours with one kernel and one thread, and tells what it cost and what came of it. */
import { createHash } from 'node:crypto'
import { squaresOf } from '../../src/analysis/algorithms/knn-graph/cosine.ts'
import { ExactNeighbours, unitVectors } from '../../src/analysis/algorithms/knn-graph/exact-neighbours.ts'
import { openKernel } from '../../src/analysis/algorithms/knn-graph/score-kernel.ts'
import { makeVectors } from './nodes.ts'
import { compileSimdKernel, openSimdKernel } from './simd-kernel.ts'

const [name, count, dimensions, k] = process.argv.slice(2) as [string, string, string, string]
const nodes = { count: +count, dimensions: +dimensions, vectors: makeVectors(+count, +dimensions) }
const squares = squaresOf(nodes)
const module = await compileSimdKernel()
const before = process.cpuUsage()
const started = performance.now()
const unit = unitVectors(nodes, squares)
const kernel =
  name === 'simd' ? openSimdKernel(module, unit, +dimensions, +k + 9) : await openKernel(unit, +dimensions, 1)
const neighbours = new ExactNeighbours(nodes, squares, kernel, { k: +k, minSimilarity: null })
const hash = createHash('sha256')
for await (const { targets, similarities } of neighbours.blocks()) hash.update(targets).update(similarities)
const { user, system } = process.cpuUsage(before)
console.log(
  JSON.stringify({
    cpuSeconds: (user + system) / 1e6,
    wallSeconds: (performance.now() - started) / 1000,
    peakBytes: process.resourceUsage().maxRSS * 1024,
    digest: hash.digest('hex'),
  }),
)
