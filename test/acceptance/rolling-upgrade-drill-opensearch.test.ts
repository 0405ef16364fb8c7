import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import { findPostgres, type ThrowawayPostgres, throwawayPostgres } from '../../scripts/throwaway-postgres.ts'
import { openSearchNodes, withoutOpenSearch } from '../support/opensearch-nodes.ts'
import { until } from '../support/until.ts'
import { checkRollingUpgrade } from './rolling-upgrade.ts'

const missing =
  openSearchNodes === null ? withoutOpenSearch : findPostgres() === null ? 'there is no PostgreSQL' : false
const prefix = `test-${randomBytes(4).toString('hex')}`
const node = openSearchNodes?.[0] ?? ''
const names = async () => Object.keys((await (await fetch(`${node}/${prefix}-*`)).json()) as object)
let postgres: ThrowawayPostgres | undefined

checkRollingUpgrade('in a cluster', missing, {
  documents: 300,
  env: async () => {
    // A cluster that has just started may take longer for its first index than a server has for its start.
    for (const method of ['PUT', 'DELETE']) await fetch(`${node}/${prefix}-first`, { method })
    postgres = await throwawayPostgres({ durable: false })
    return {
      TIDEMARK_DATABASE_URL: postgres.url,
      TIDEMARK_SEARCH_URL: openSearchNodes!.join(','),
      TIDEMARK_SEARCH_PREFIX: prefix,
      TIDEMARK_LOG_LEVEL: 'info',
    }
  },
  oldRemoved: () => until('the index of one version is left', async () => (await names()).length === 1),
})

after(async () => {
  await postgres?.remove()
  if (missing === false) for (const name of await names()) await fetch(`${node}/${name}`, { method: 'DELETE' })
})
