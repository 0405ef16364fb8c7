/**
 * Feeds the next index of a data folder forever and prints each position once it is acknowledged. Meant to be killed.
 */
import { writeSync } from 'node:fs'
import { SegmentsHome } from '../../../src/storage/segments/segments-home.ts'
import { put } from '../index-under-test.ts'

const origin = { rules: 'one', instance: 'a' }
const { index } = await new SegmentsHome({ dataDir: process.argv[2]!, origin, readers: 1 }).openNext()
for (let position = 1; ; position++) {
  await index.apply({ position, changes: [put(`d${position}`, ['word'])] })
  writeSync(1, `${position}\n`)
}
