import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SegmentsHome } from '../../src/storage/segments/segments-home.ts'
import { checkIndexHome } from './index-home.ts'

const folder = mkdtempSync(join(tmpdir(), 'index-home-'))
after(() => rmSync(folder, { recursive: true, force: true }))

checkIndexHome('segments', async () => {
  const dataDir = mkdtempSync(join(folder, 'data-'))
  return {
    home: (rules = 'one', instance = 'a') => new SegmentsHome({ dataDir, origin: { rules, instance }, readers: 1 }),
    endlessRebuild: [fileURLToPath(new URL('./crash/next-builder.ts', import.meta.url)), dataDir],
  }
})
