/**
 * Applies batches forever, starting at the index's position, and prints each position once it is acknowledged. Meant to
 * be killed.
 */
import { writeSync } from 'node:fs'
import { openSegmentsIndex } from '../../../src/storage/segments/segments-index.ts'
import { batchAt, layout } from './batches.ts'

const index = await openSegmentsIndex({ path: process.argv[2]!, ...layout })
let { position, state } = await index.health()
if (state !== 'ready') process.exit(3)
for (;;) {
  await index.apply(batchAt(++position))
  writeSync(1, `${position}\n`)
}
