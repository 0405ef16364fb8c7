import { freshFolder, startServer } from '../test/acceptance/harness.ts'

/** From starting the process to the printed address: on an empty folder, and again on one that has been served. */
const rounds = 5

export async function run(): Promise<void> {
  const first: number[] = []
  const again: number[] = []
  for (let round = 1; round <= rounds; round++) {
    const dataDir = freshFolder()
    for (const times of [first, again]) {
      const started = performance.now()
      const server = await startServer({ dataDir })
      times.push(performance.now() - started)
      await server.stop()
    }
    console.log(`round ${round}: empty folder ${first.at(-1)!.toFixed(0)} ms, again ${again.at(-1)!.toFixed(0)} ms`)
  }
  console.log(`median of ${rounds}: empty folder ${median(first).toFixed(0)} ms, again ${median(again).toFixed(0)} ms`)
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
