/** Fills an index: node fill.ts PATH CHUNKS TERMS. */
import { openSegmentsIndex } from '../../src/storage/segments/segments-index.ts'
import { corpus } from './corpus.ts'

const [path = '', chunks = '0', terms = '0'] = process.argv.slice(2)
const documentsPerBatch = 500

const index = await openSegmentsIndex({ path })
let position = 0
let last: Promise<unknown> = Promise.resolve()
let changes = []
for (const put of corpus(Number(chunks), Number(terms))) {
  changes.push(put)
  if (changes.length < documentsPerBatch) continue
  await last
  last = index.apply({ position: ++position, changes })
  changes = []
}
await last
await index.apply({ position: ++position, changes })
for (let quiet = 0; quiet < 3; ) {
  quiet = (await index.health()).merging ? 0 : quiet + 1
  await new Promise((resolve) => setTimeout(resolve, 200))
}
await index.close()
process.exit(0)
