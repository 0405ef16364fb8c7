import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { OpenSearchHome } from '../../src/storage/opensearch/opensearch-home.ts'
import { openSearchNodes, patience, withoutOpenSearch } from '../support/opensearch-nodes.ts'
import { checkIndexHome } from './index-home.ts'

if (openSearchNodes === null) test('index home: opensearch', { skip: withoutOpenSearch }, () => {})
else {
  const nodes = openSearchNodes
  const made: OpenSearchHome[] = []
  after(async () => {
    for (const home of made) await home.remove()
  })
  checkIndexHome('opensearch', async () => {
    const prefix = `test-${randomBytes(4).toString('hex')}`
    const home = (rules = 'one', instance = 'a') =>
      new OpenSearchHome({ nodes, prefix, origin: { rules, instance }, graceMs: 0, ...patience })
    made.push(home())
    const builder = fileURLToPath(new URL('./crash/next-opensearch-builder.ts', import.meta.url))
    return { home, endlessRebuild: [builder, nodes.join(','), prefix] }
  })
}
