import { spawn } from 'node:child_process'
import { startServer } from '../test/acceptance/harness.ts'
import { type Load, load } from './account/load.ts'

/**
 * GET /v1/account with a valid key against a bare Fastify route that gives the same JSON: what a request costs for its
 * credential, limits, headers, counting, metrics and log line. Aim: at least half of the bare rate.
 */
const rounds = 7
const roundMs = 2000
const connections = 32

export async function run(): Promise<void> {
  const server = await startServer({ dropLog: true })
  await server.makeDataset('news')
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'], languages: ['en'] }] })
  const { body, text } = await server.consumer(key, 'GET', '/v1/account')
  const bare = spawn(
    process.execPath,
    [new URL('./account/bare-server.ts', import.meta.url).pathname, JSON.stringify(body)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const address = await new Promise<string>((resolve) =>
    bare.stdout.once('data', (line) => resolve(String(line).trim())),
  )
  const ours = { address: server.address, path: '/v1/account', key, pid: server.pid }
  const theirs = { address, path: '/v1/account', key, pid: bare.pid! }
  try {
    console.log(
      `${text.length} bytes of JSON, ${connections} connections, ${rounds} rounds of ${roundMs / 1000} s each, alternating`,
    )
    await load(ours, connections, roundMs)
    await load(theirs, connections, roundMs)
    const ratios: number[] = []
    const cpuRatios: number[] = []
    for (let round = 1; round <= rounds; round++) {
      const pair: [Load, Load] =
        round % 2 === 0
          ? [await load(ours, connections, roundMs), await load(theirs, connections, roundMs)]
          : (([b, a]) => [a, b] as [Load, Load])([
              await load(theirs, connections, roundMs),
              await load(ours, connections, roundMs),
            ])
      const [own, other] = pair
      ratios.push(own.perSecond / other.perSecond)
      cpuRatios.push(other.cpuMicroseconds / own.cpuMicroseconds)
      console.log(
        `round ${round}: account ${own.perSecond.toFixed(0)}/s (${own.cpuMicroseconds.toFixed(0)} us CPU), ` +
          `bare ${other.perSecond.toFixed(0)}/s (${other.cpuMicroseconds.toFixed(0)} us CPU), ratio ${ratios.at(-1)!.toFixed(2)}`,
      )
    }
    console.log(
      `median ratio of rates ${median(ratios).toFixed(2)} (aim: at least 0.5), of CPU time ${median(cpuRatios).toFixed(2)}`,
    )
  } finally {
    bare.kill()
    await server.stop()
  }
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
