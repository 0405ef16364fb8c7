/**
 * All neighbours of N nodes, d = 384, k = 30, one thread, by the native runtime and by WebAssembly SIMD: each in place, under the
 * same search with its proof, in a process of its own, in turn; the middle of some rounds. Both must find the same.
 *
 *   npm run bench -- knn-kernels [5000,20000] [--rounds 3]
 */
import { execFile } from 'node:child_process'
import { parseArgs, promisify } from 'node:util'

const execute = promisify(execFile)
const dimensions = 384
const k = 30
const kernels = ['runtime', 'simd'] as const
const kernelProcess = new URL('./knn/kernel-process.ts', import.meta.url)

interface Cost {
  readonly cpuSeconds: number
  readonly wallSeconds: number
  readonly peakBytes: number
  readonly digest: string
}

async function costOf(kernel: string, count: number): Promise<Cost> {
  const args = [kernelProcess.pathname, kernel, count, dimensions, k].map(String)
  return JSON.parse((await execute(process.execPath, args)).stdout)
}

const middle = (costs: readonly Cost[], part: 'cpuSeconds' | 'wallSeconds' | 'peakBytes'): number =>
  costs.map((cost) => cost[part]).sort((a, b) => a - b)[costs.length >> 1]!

export async function run(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { rounds: { type: 'string', default: '3' } },
  })
  console.log(`d = ${dimensions}, k = ${k}, one thread; the middle of ${values.rounds} rounds`)
  console.log('N       kernel   CPU seconds  wall seconds  peak memory')
  for (const size of (positionals[0] ?? '5000,20000').split(',').map(Number)) {
    const costs = { runtime: [] as Cost[], simd: [] as Cost[] }
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const kernel of kernels) costs[kernel].push(await costOf(kernel, size))
    }
    for (const kernel of kernels) {
      const one = costs[kernel]
      console.log(
        [
          String(size).padEnd(7),
          kernel.padEnd(8),
          middle(one, 'cpuSeconds').toFixed(2).padEnd(12),
          middle(one, 'wallSeconds').toFixed(2).padEnd(13),
          `${Math.round(middle(one, 'peakBytes') / 2 ** 20)} MB`,
        ].join(' '),
      )
    }
    const digests = new Set(kernels.flatMap((kernel) => costs[kernel].map(({ digest }) => digest)))
    const ratio = middle(costs.simd, 'cpuSeconds') / middle(costs.runtime, 'cpuSeconds')
    console.log(
      `        simd / runtime ${ratio.toFixed(2)}, ${digests.size === 1 ? 'the same neighbours' : 'OTHER NEIGHBOURS'}`,
    )
  }
}
