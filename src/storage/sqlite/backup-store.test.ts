import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { suite, test } from 'node:test'
import { NewerStoreError } from '../open-store.ts'
import { newestMigration } from '../sql/migrate.ts'
import { copyStore, refuseInUse } from './backup-store.ts'
import { openSqliteStore, storePath } from './open-sqlite-store.ts'
import { prepareRestored } from './prepare-restored.ts'

function folder(t: { after: (clean: () => void) => void }): string {
  const made = mkdtempSync(join(tmpdir(), 'tidemark-backup-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

async function openWithDataset(dataDir: string) {
  const open = await openSqliteStore(dataDir)
  const dataset = { kind: 'dataset.put', datasetId: 'd', name: 'x', description: null } as const
  await open.store.operator.commit([dataset], { actor: 'test', at: 1 })
  return open
}

const documents = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ datasetId: 'd', platform: 'p', externalId: `${name}-${i}`, body: 'b' }))

suite('the copy of a store', () => {
  test('is a snapshot of one moment and is completed, however much is written meanwhile', async (t) => {
    const dataDir = folder(t)
    const open = await openWithDataset(dataDir)
    await open.store.content.ingest(documents('before', 5000), Date.now())
    let copying = true
    let during = 0
    const writing = (async () => {
      while (copying) await open.store.content.ingest(documents(`during-${during++}`, 5), Date.now())
    })()
    const steps: number[] = []
    const to = join(dataDir, 'copy.sqlite')
    const copy = await copyStore(storePath(dataDir), to, Date.now(), ({ done }) => steps.push(done))
    copying = false
    await writing
    const { document, event } = copy.counts
    assert.equal(document, event, 'every document has its event')
    assert.ok(document! >= 5000 && document! < 5000 + during * 5)
    assert.ok(steps.length > 1)
    assert.ok(!readdirSync(dataDir).some((name) => name.startsWith('copy.sqlite-')), 'it is a single file')
    await open.close()
  })

  test('of a newer version can be made and restored by this one, unless a migration is breaking', async (t) => {
    const [dataDir, restored] = [folder(t), folder(t)]
    await (await openWithDataset(dataDir)).close()
    const later = newestMigration + 1
    const inStore = (statement: string) => {
      const raw = new DatabaseSync(storePath(dataDir))
      raw.exec(statement)
      raw.close()
    }
    const copied = (name: string) => copyStore(storePath(dataDir), join(restored, name), Date.now(), () => {})
    inStore(`insert into schema_migration values (${later}, 'later', 0)`)
    await assert.rejects(copied('refused'), NewerStoreError)
    inStore(`insert into harmless_migration values (${later})`)
    assert.equal((await copied('copy')).schema, newestMigration, 'what this version must know to restore it')
    const access = await prepareRestored(join(restored, 'copy'), storePath(restored), '2026-11-15T00:00:00Z', 1)
    assert.ok('unknown' in access)
  })

  test('is refused only while a process has the store open', async (t) => {
    const dataDir = folder(t)
    refuseInUse(storePath(dataDir))
    const open = await openWithDataset(dataDir)
    assert.throws(() => refuseInUse(storePath(dataDir)), /is in use: stop the server/)
    await open.close()
    refuseInUse(storePath(dataDir))
    const again = await openSqliteStore(dataDir)
    assert.equal((await again.store.operator.datasets()).length, 1)
    await again.close()
  })
})
