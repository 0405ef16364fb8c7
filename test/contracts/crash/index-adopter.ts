/**
 * Serves the index of a data folder. For each line of standard input it looks for a newer index and reports the result.
 */
import { once } from 'node:events'
import { SegmentsHome } from '../../../src/storage/segments/segments-home.ts'
import { put } from '../index-under-test.ts'

const origin = { rules: 'one', instance: 'a' }
const home = new SegmentsHome({ dataDir: process.argv[2]!, origin, readers: 1 })
const index = await home.open()
console.log('open')
await once(process.stdin, 'data')
const newer = await home.openNewer().catch((error: Error) => error.message)
await index.apply({ position: 1, changes: [put('d1', ['word'])] })
console.log(typeof newer === 'string' ? newer : `newer at ${(await newer?.health())?.position}`)
console.log(`the one before is at ${(await index.health()).position}`)
process.exit()
