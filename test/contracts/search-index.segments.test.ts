import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { openSegmentsIndex } from '../../src/storage/segments/segments-index.ts'
import { BruteForceIndex } from './brute-force-index.ts'
import { searchIndexContract } from './search-index.ts'

const folder = mkdtempSync(join(tmpdir(), 'segments-contract-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const layout = { sealChunks: 8, segmentChunks: 32, mergeFanIn: 2 }
searchIndexContract('segments', () => openSegmentsIndex({ path: join(folder, 'index.db'), ...layout }))
searchIndexContract('segments, every search by three threads', () =>
  openSegmentsIndex({ path: join(folder, 'split.db'), ...layout, readers: 3, splitFromChunks: 0 }),
)
searchIndexContract('brute force, the reference', async () => new BruteForceIndex())
