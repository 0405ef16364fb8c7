import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { IncomingDocument, IngestResult } from './content-store.ts'
import { type ImportProgress, importFile } from './import-file.ts'
import { Pace } from './pace.ts'

test('an import waits for the index, reports that, and stores everything', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-import-'))
  try {
    const path = join(folder, 'documents.ndjson')
    const lines = Array.from({ length: 5000 }, (_, i) =>
      JSON.stringify({ dataset_id: 'd', source_platform: 'p', external_id: String(i), title: 't' }),
    )
    await writeFile(path, lines.join('\n'))
    let stored = 0
    const submit = async (documents: readonly IncomingDocument[]): Promise<readonly IngestResult[]> => {
      stored += documents.length
      now += 1000
      return documents.map((one) => ({ documentId: one.externalId, versionId: 'v', outcome: 'created' }))
    }
    // The index takes 10 documents in the time in which 250 are stored.
    let now = 0
    const searchable = () => Math.min(stored, now / 100)
    const pause = async (ms: number): Promise<void> => {
      now += ms
    }
    const clock = { now: () => now, pause }
    const pace = new Pace({ read: async () => ({ stored, searchable: searchable() }) }, clock)
    const reports: ImportProgress[] = []
    const source = { path, position: null, refused: null }
    const { outcomes } = await importFile(source, { submit }, (progress) => reports.push(progress), pace)
    assert.deepEqual([outcomes, stored], [{ created: 5000 }, 5000])
    assert.ok(stored - searchable() < 1500, `${stored - searchable()} are not searchable yet`)
    const held = reports.filter(({ isHeldUp }) => isHeldUp)
    assert.ok(held.length > 20, `held up ${held.length} times`)
    assert.ok(held.every(({ lines: read }) => read > 0 && read <= 5000))
  } finally {
    await rm(folder, { recursive: true })
  }
})
