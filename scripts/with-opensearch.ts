import { spawn } from 'node:child_process'
import { getOpenSearch, throwawayOpenSearch } from './throwaway-opensearch.ts'

/**
 * `npm run with-opensearch -- COMMAND…` runs a command with TEST_OPENSEARCH_URL set to a temporary cluster of one node,
 * or of OPENSEARCH_NODES nodes. `--is-missing` installs OpenSearch; if that is not possible, it prints what is missing
 * and exits with 0.
 */
const [command, ...args] = process.argv.slice(2)
if (command === '--is-missing') {
  const missing = getOpenSearch()
  if (missing !== null) console.log(`OpenSearch cannot be started here, because there is no ${missing}`)
  process.exit(missing === null ? 1 : 0)
}
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
