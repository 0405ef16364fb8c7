/** Feeds the next index of a prefix forever and prints each position once it is acknowledged. Meant to be killed. */
import { writeSync } from 'node:fs'
import { OpenSearchHome } from '../../../src/storage/opensearch/opensearch-home.ts'
import { patience } from '../../support/opensearch-nodes.ts'
import { put } from '../index-under-test.ts'

const [urls, prefix] = process.argv.slice(2) as [string, string]
const home = new OpenSearchHome({
  nodes: urls.split(','),
  prefix,
  origin: { rules: 'one', instance: 'a' },
  ...patience,
})
const { index } = await home.openNext()
for (let position = 1; ; position++) {
  await index.apply({ position, changes: [put(`d${position}`, ['word'])] })
  writeSync(1, `${position}\n`)
}
