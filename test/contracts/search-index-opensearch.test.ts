import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { OpenSearchHome } from '../../src/storage/opensearch/opensearch-home.ts'
import { openSearchNodes, patience, withoutOpenSearch } from '../support/opensearch-nodes.ts'
import { searchIndexContract } from './search-index.ts'

if (openSearchNodes === null) test('search index: opensearch', { skip: withoutOpenSearch }, () => {})
else {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  const home = new OpenSearchHome({
    nodes: openSearchNodes,
    prefix,
    origin: { rules: 'one', instance: 'a' },
    graceMs: 0,
    ...patience,
  })
  after(() => home.remove())
  searchIndexContract('opensearch', () => home.open())
}
