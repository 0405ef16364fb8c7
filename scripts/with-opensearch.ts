import { spawn } from 'node:child_process'
import { throwawayOpenSearch } from './throwaway-opensearch.ts'

/**
 * `npm run with-opensearch -- COMMAND…` runs it with TEST_OPENSEARCH_URL set to a cluster made for it: of one node, or of as
 * many as OPENSEARCH_NODES says.
 */
const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  console.error('usage: npm run with-opensearch -- COMMAND…')
  process.exit(2)
}
const cluster = await throwawayOpenSearch({ nodes: Number(process.env.OPENSEARCH_NODES ?? 1) })
const env = { ...process.env, TEST_OPENSEARCH_URL: cluster.urls.join(',') }
const child = spawn(command, args, { stdio: 'inherit', env })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
await cluster.remove()
process.exit(code ?? 1)
