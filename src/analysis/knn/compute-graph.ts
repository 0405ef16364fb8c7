import { EdgeTable, type WrittenFile } from './edge-table.ts'
import { ExactNeighbours, squaresOf, unitVectors, type Wanted } from './exact-neighbours.ts'
import { openKernel } from './score-kernel.ts'

export interface GraphJob extends Wanted {
  readonly dimensions: number
  /** How many nodes come at the most. */
  readonly nodesMax: number
  readonly threads: number
  /** Where the file is written; there must be none. */
  readonly path: string
}

/** Some nodes, in ascending order of chunk ids over all portions. */
export interface NodePortion {
  readonly chunkIds: readonly string[]
  readonly documentIds: readonly string[]
  readonly versionIds: readonly string[]
  /** The vectors of these nodes, one after the other. */
  readonly vectors: Float32Array
}

/** What a graph cost its process, for the log and for whoever measures. */
export interface GraphCost {
  /** Rows without a proof, which were done again. */
  readonly redone: number
  readonly cpuSeconds: number
  readonly peakBytes: number
}

/** One graph from its nodes to its file: collects, computes, writes. */
export class GraphComputation {
  readonly #job: GraphJob
  readonly #ids = { chunkIds: [] as string[], documentIds: [] as string[], versionIds: [] as string[] }
  readonly #vectors: Float32Array

  constructor(job: GraphJob) {
    this.#job = job
    this.#vectors = new Float32Array(job.nodesMax * job.dimensions)
  }

  /** A vector of length 0 has no direction and so no neighbours, and is nobody's. */
  add(portion: NodePortion): void {
    const { dimensions } = this.#job
    for (const [i, chunkId] of portion.chunkIds.entries()) {
      const vector = portion.vectors.subarray(i * dimensions, (i + 1) * dimensions)
      if (vector.every((value) => value === 0)) continue
      this.#vectors.set(vector, this.#ids.chunkIds.length * dimensions)
      this.#ids.chunkIds.push(chunkId)
      this.#ids.documentIds.push(portion.documentIds[i]!)
      this.#ids.versionIds.push(portion.versionIds[i]!)
    }
  }

  /** `progress` gets the part of the rows that is done; it may wait, to let messages in. */
  async write(progress: (done: number) => Promise<void>): Promise<WrittenFile & GraphCost> {
    const { dimensions, threads, path } = this.#job
    const count = this.#ids.chunkIds.length
    const table = new EdgeTable(path, this.#ids)
    if (count < 2) return { ...table.finish(), ...costOf(0) }
    const nodes = { count, dimensions, vectors: this.#vectors.subarray(0, count * dimensions) }
    const squares = squaresOf(nodes)
    const kernel = await openKernel(unitVectors(nodes, squares), dimensions, threads)
    const neighbours = new ExactNeighbours(nodes, squares, kernel, this.#job)
    for await (const { start, counts, targets, similarities } of neighbours.blocks()) {
      let at = 0
      for (const [i, found] of counts.entries()) {
        for (let rank = 1; rank <= found; rank++, at++) table.add(start + i, targets[at]!, rank, similarities[at]!)
      }
      await progress((start + counts.length) / count)
    }
    return { ...table.finish(), ...costOf(neighbours.redone) }
  }
}

function costOf(redone: number): GraphCost {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  return { redone, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakBytes: maxRSS * 1024 }
}
