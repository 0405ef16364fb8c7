import { freshFolder, startServer } from '../test/acceptance/harness.ts'
import { cpuSeconds } from './account/load.ts'

/**
 * From starting the process to the printed address: on an empty folder, and again on one that has been served. The CPU
 * time beside it says what the start costs where the machine is busy with other things.
 */
const rounds = 5

export async function run(): Promise<void> {
  const first: Start[] = []
  const again: Start[] = []
  for (let round = 1; round <= rounds; round++) {
    const dataDir = freshFolder()
    for (const times of [first, again]) {
      const started = performance.now()
      const server = await startServer({ dataDir })
      times.push({ wallMs: performance.now() - started, cpuMs: cpuSeconds(server.pid) * 1000 })
      await server.stop()
    }
    console.log(`round ${round}: empty folder ${words(first.at(-1)!)}, again ${words(again.at(-1)!)}`)
  }
  console.log(`median of ${rounds}: empty folder ${words(medians(first))}, again ${words(medians(again))}`)
}

interface Start {
  readonly wallMs: number
  readonly cpuMs: number
}

const words = ({ wallMs, cpuMs }: Start): string => `${wallMs.toFixed(0)} ms (${cpuMs.toFixed(0)} ms CPU)`
const medians = (starts: readonly Start[]): Start => ({
  wallMs: median(starts.map(({ wallMs }) => wallMs)),
  cpuMs: median(starts.map(({ cpuMs }) => cpuMs)),
})

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
