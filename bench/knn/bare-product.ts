/** A process that multiplies the vectors with themselves, block by block, and does nothing with the products. */
import { openKernel } from '../../src/analysis/algorithms/knn-graph/score-kernel.ts'
import { makeVectors } from './nodes.ts'

const [count, dimensions] = process.argv.slice(2).map(Number) as [number, number]
const rows = 256
const vectors = makeVectors(count, dimensions)
const kernel = await openKernel(vectors, dimensions, 1)
await kernel.scores([0])
const before = process.cpuUsage()
const started = performance.now()
for (let start = 0; start < count; start += rows) {
  await kernel.scores(Array.from({ length: Math.min(rows, count - start) }, (_, i) => start + i))
}
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify({ cpuSeconds: (user + system) / 1e6, wallSeconds: (performance.now() - started) / 1000 }))
