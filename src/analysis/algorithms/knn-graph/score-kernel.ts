import { env, InferenceSession, Tensor } from 'onnxruntime-node'
import { nearestModel, scoresModel } from './knn-model.ts'

/** Computes 32-bit scores of rows against all rows. `exact-neighbours.ts` has the error bound. */
export interface ScoreKernel {
  /** Returns the `keep` highest scores of each row in a range, descending, with their positions. */
  nearest(start: number, count: number, keep: number): Promise<{ best: Float32Array; positions: Int32Array }>
  /** Returns all scores of some rows, row by row. */
  scores(rows: readonly number[]): Promise<Float32Array>
}

/** `vectors` holds rows of `dimensions` numbers, each row of length 1. It must not change while the kernel is used. */
export async function openKernel(vectors: Float32Array, dimensions: number, threads: number): Promise<ScoreKernel> {
  env.logLevel = 'error'
  const options = {
    executionProviders: ['cpu'],
    executionMode: 'sequential',
    interOpNumThreads: 1,
    intraOpNumThreads: threads,
    logSeverityLevel: 3,
  } as const
  const nearest = await InferenceSession.create(nearestModel(), options)
  const scores = await InferenceSession.create(scoresModel(), options)
  const count = vectors.length / dimensions
  const all = new Tensor('float32', vectors, [count, dimensions])
  const rowsOf = (data: Float32Array) => new Tensor('float32', data, [data.length / dimensions, dimensions])
  return {
    async nearest(start, rows, keep) {
      const range = vectors.subarray(start * dimensions, (start + rows) * dimensions)
      const found = await nearest.run({
        rows: rowsOf(range),
        all,
        keep: new Tensor('int64', BigInt64Array.of(BigInt(keep)), [1]),
      })
      return { best: found.best!.data as Float32Array, positions: found.positions!.data as Int32Array }
    },
    async scores(rows) {
      const gathered = new Float32Array(rows.length * dimensions)
      for (const [i, row] of rows.entries()) {
        gathered.set(vectors.subarray(row * dimensions, (row + 1) * dimensions), i * dimensions)
      }
      return (await scores.run({ rows: rowsOf(gathered), all })).scores!.data as Float32Array
    },
  }
}
