import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fieldPermissions } from '../../access/scope.ts'
import type { NewRun } from '../../analysis/analysis-store.ts'
import type { Subscription } from '../../analysis/subscription-store.ts'
import { defaultEventTypes } from '../../changes/change-log.ts'
import type { Change } from '../../operator/operator-store.ts'
import { newestMigration } from '../sql/migrate.ts'
import { migrations } from '../sql/migrations/index.ts'
import { refuseInUse } from './backup-store.ts'
import { sqliteMigrationDialect } from './migration-dialect.ts'
import { openSqlite } from './node-sqlite.ts'
import { openSqliteStore, storePath } from './open-sqlite-store.ts'
import { prepareRestored } from './prepare-restored.ts'
import { sqliteSchema } from './sqlite-schema.ts'

const madeAt = '2026-11-15T00:00:00Z'

function folder(t: { after: (clean: () => void) => void }): string {
  const made = mkdtempSync(join(tmpdir(), 'tidemark-restored-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

const anything = { platforms: null, languages: null, regions: null, publishedFrom: null, publishedTo: null }
const everything = { entries: [{ ...anything, datasets: ['d'], fields: fieldPermissions }] }

const dataset = { kind: 'dataset.put', datasetId: 'd', name: 'x', description: null } as const
const collector = { kind: 'collector.create', collectorId: 'col', name: 'x', datasets: null } as const
const key = (keyId: string): Change => ({
  kind: 'key.create',
  keyId,
  owner: { kind: 'collector', id: 'col' },
  rights: null,
  name: null,
  prefix: 'tml_',
  hash: keyId,
  expiresAt: null,
})

async function changed(dataDir: string, ...changes: Change[]): Promise<void> {
  const open = await openSqliteStore(dataDir)
  await open.store.operator.commit(changes, { actor: 'test', at: 1 })
  await open.close()
}

const documents = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ datasetId: 'd', platform: 'p', externalId: `${name}-${i}`, body: 'b' }))

test('events after a restore have higher positions than all that readers may have seen', async (t) => {
  for (const count of [0, 3]) {
    const dataDir = folder(t)
    await changed(dataDir, dataset)
    const open = await openSqliteStore(dataDir)
    if (count > 0) await open.store.content.ingest(documents('before', count), Date.now())
    await open.close()
    await prepareRestored(storePath(dataDir), storePath(folder(t)), madeAt, 2)
    const restored = await openSqliteStore(dataDir)
    await restored.store.content.ingest(documents('after', 2), Date.now())
    const query = {
      limit: 10,
      scanMax: 100,
      scope: everything,
      eventTypes: defaultEventTypes,
      ingestedFrom: null,
      ingestedTo: null,
    }
    // A cursor from the lost time.
    const gap = await restored.store.changes.read({ ...query, after: 500_000 })
    assert.deepEqual([gap.events.length, gap.atEnd], [0, false])
    const page = await restored.store.changes.read({ ...query, after: gap.position })
    assert.deepEqual([page.events.length, page.atEnd], [2, true], 'one read skips the gap')
    await restored.close()
  }
})

const application = { kind: 'application.create', applicationId: 'app', name: 'x', policy: {} } as const
const run: NewRun = {
  runId: 'run_1',
  applicationId: 'app',
  analysisType: 'feature_rollup',
  embeddingProfileId: null,
  inputScope: { dataset_ids: ['d'] },
  parameters: null,
  inputCutoffAt: 3,
  retentionDays: 1,
  scope: { entries: [] },
  createdAt: 3,
  expiresAt: 4,
}

test('runs that a subscription starts after a restore have higher numbers than all that readers may have seen', async (t) => {
  const dataDir = folder(t)
  await changed(dataDir, dataset, application)
  const subscription: Subscription = {
    subscriptionId: 'sub_1',
    applicationId: 'app',
    name: 'x',
    analysisType: 'feature_rollup',
    inputScope: { dataset_ids: ['d'] },
    executionMode: 'scheduled',
    embeddingProfileId: null,
    parameters: null,
    intervalSeconds: null,
    artifactRetentionDays: null,
    paused: false,
    createdAt: 1,
    updatedAt: 1,
    checkpoint: null,
  }
  const open = await openSqliteStore(dataDir)
  await open.store.analysis.addSubscription(subscription)
  await open.close()
  await prepareRestored(storePath(dataDir), storePath(folder(t)), madeAt, 2)
  const restored = await openSqliteStore(dataDir)
  t.after(() => restored.close())
  const start = { subscriptionId: 'sub_1', run, concurrentMax: null }
  assert.equal(await restored.store.analysis.startRun({ ...start, afterTurn: 0 }), null)
  const started = await restored.store.analysis.startRun({ ...start, afterTurn: 1_000_000 })
  assert.equal(started?.subscription?.turn, 1_000_001)
})

test('keys that were revoked or expired in the replaced store are so in the restored one, with audit entries', async (t) => {
  const [backup, replaced] = [folder(t), folder(t)]
  for (const dataDir of [backup, replaced]) await changed(dataDir, collector, key('key_a'), key('key_b'), key('key_c'))
  await changed(
    replaced,
    { kind: 'key.revoke', keyId: 'key_a' },
    { kind: 'key.expire', keyId: 'key_b', expiresAt: 900 },
  )
  const access = await prepareRestored(storePath(backup), storePath(replaced), madeAt, 500)
  assert.ok('carried' in access)
  assert.deepEqual(
    access.carried.keptRevoked.map(({ keyId }) => keyId),
    ['key_a'],
  )
  const restored = await openSqliteStore(backup)
  t.after(() => restored.close())
  assert.deepEqual(
    (await restored.store.operator.keys({})).map(({ keyId, revokedAt, expiresAt }) => [keyId, revokedAt, expiresAt]),
    [
      ['key_a', 1, null],
      ['key_b', null, 900],
      ['key_c', null, null],
    ],
  )
  const lines = await restored.store.operator.audit({ before: null, limit: 3 })
  assert.deepEqual(
    lines
      .map(({ actor, action, target, detail }) => ({ actor, action, target, detail }))
      .toSorted((a, b) => (a.action < b.action ? -1 : 1)),
    [
      {
        actor: 'restore',
        action: 'instance.restore',
        target: 'instance',
        detail: { backupMadeAt: madeAt, compared: true, revived: [] },
      },
      { actor: 'restore', action: 'key.expire', target: 'key_b', detail: { keyId: 'key_b', expiresAt: 900 } },
      { actor: 'restore', action: 'key.revoke', target: 'key_a', detail: { keyId: 'key_a', revokedAt: 1 } },
    ],
  )
})

test('if the replaced store is missing, is no database or has another schema, its revocations are unknown', async (t) => {
  const replacing: [RegExp, (path: string) => void][] = [
    [/was no store/, () => {}],
    [/cannot be read/, (path) => writeFileSync(path, 'not a database '.repeat(1000))],
    [/of another version/, (path) => makeDatabase(path, 'create table other (a)')],
    [/of another version/, (path) => makeDatabase(path, 'create table api_key (key_id text)')],
  ]
  for (const [why, make] of replacing) {
    const [backup, replaced] = [folder(t), folder(t)]
    await changed(backup, collector, key('key_a'), key('key_b'), { kind: 'key.revoke', keyId: 'key_b' })
    make(storePath(replaced))
    const access = await prepareRestored(storePath(backup), storePath(replaced), madeAt, 500)
    assert.ok('unknown' in access)
    assert.match(access.unknown, why)
    assert.equal(access.validKeys, 1)
  }
})

function makeDatabase(path: string, statement: string): void {
  const raw = new DatabaseSync(path)
  raw.exec(statement)
  raw.close()
}

test('documents erased since the backup are erased again, to the last byte, and refused as before', async (t) => {
  const [dataDir, backup] = [folder(t), folder(t)]
  await changed(dataDir, dataset, application)
  const open = await openSqliteStore(dataDir)
  const words = ['kept', 'gone', 'lifted', 'early'].map((word) => `${word}-in-forty-bytes-of-text`)
  const sent = words.map((word) => ({
    datasetId: 'd',
    platform: 'p',
    externalId: word,
    title: word,
    body: word,
    tags: [word],
    publishedAt: 500,
    observedAt: 600,
  }))
  const results = await open.store.content.ingest(sent, 1000)
  const idOf = (i: number): string => (results[i] as { documentId: string }).documentId
  const erase = (erasureId: string, ...documentIds: string[]) =>
    open.store.erasures.begin(
      { erasureId, selection: { documentIds }, keepTombstones: true, purgeArtifacts: false, mustExist: true },
      { actor: 'test', at: 2000 },
    )
  await erase('ers_early', idOf(3))
  for (const runId of ['run_kept', 'run_purged']) {
    assert.ok(await open.store.analysis.addRun({ ...run, runId, expiresAt: 9000 }, null))
  }
  await open.store.erasures.remove('ers_early', 10)
  // The backup is made now, before the erasures that follow.
  await open.scrub()
  writeFileSync(storePath(backup), readFileSync(storePath(dataDir)))
  await erase('ers_later', idOf(1), idOf(2))
  const lifted = { datasetId: 'd', platform: 'p', externalId: words[2]! }
  assert.ok(await open.store.erasures.lift(lifted, { actor: 'test', at: 3000 }))
  const [late] = await open.store.content.ingest([{ ...sent[0]!, externalId: 'late' }], 4000)
  await erase('ers_late', (late as { documentId: string }).documentId)
  await open.close()
  makeDatabase(
    storePath(dataDir),
    `update erasure set purge_artifacts = 1, artifact_run_ids = '["run_purged"]' where erasure_id = 'ers_later'`,
  )

  const access = await prepareRestored(storePath(backup), storePath(dataDir), madeAt, 5000)
  assert.equal(access.erasedAgain, 2)
  const bytes = readFileSync(storePath(backup), 'latin1')
  assert.deepEqual(
    words.map((word) => bytes.includes(word)),
    [true, false, false, false],
  )
  const restored = await openSqliteStore(backup)
  t.after(() => restored.close())
  const expiresAt = async (runId: string) => (await restored.store.analysis.run('app', runId))?.expiresAt
  assert.deepEqual([await expiresAt('run_kept'), await expiresAt('run_purged')], [9000, 5000])
  const known = await restored.store.catalog.documents([0, 1, 2, 3].map(idOf), { snapshot: false })
  assert.deepEqual(
    known.map(({ documentId }) => documentId),
    [idOf(0)],
  )
  const { events } = await restored.store.changes.read({
    after: null,
    limit: 4,
    scanMax: 1_000_000,
    scope: everything,
    eventTypes: defaultEventTypes,
    ingestedFrom: null,
    ingestedTo: null,
  })
  assert.deepEqual(
    events.map((one) => [one.document_id, one.changed_fields.length > 0, Date.parse(one.occurred_at)]),
    [0, 1, 2, 3].map((i) => [idOf(i), i === 0, i === 0 ? 500 : 1000]),
    'past events of erased documents keep only their ids',
  )
  const audit = await restored.store.operator.audit({ before: null, limit: 100 })
  const replayed = audit.filter(({ action, actor }) => action === 'erasure.replay' && actor === 'restore')
  const by = { erasedBy: 'test', erasedAt: '1970-01-01T00:00:02.000Z' }
  assert.deepEqual(
    Object.fromEntries(replayed.map(({ target, detail }) => [target, detail])),
    { ers_later: { ...by, documents: 2, erasedAgain: 2 }, ers_late: { ...by, documents: 1, erasedAgain: 0 } },
    'an entry for each erasure that the backup does not have',
  )
  const again = await restored.store.content.ingest([...sent, { ...sent[0]!, externalId: 'late' }], 6000)
  assert.deepEqual(
    again.map((one) => ('outcome' in one ? one.outcome : null)),
    ['unchanged', 'erased', 'created', 'erased', 'erased'],
  )
  const jobs = await restored.store.erasures.unfinished()
  assert.deepEqual(
    jobs.map(({ erasureId }) => erasureId),
    ['ers_early', 'ers_late', 'ers_later'],
  )
})

test('a backup of an older version is brought up to date before it is compared', async (t) => {
  const [backup, replaced] = [folder(t), folder(t)]
  const { raw, db } = openSqlite(storePath(backup), false)
  raw.exec('create table schema_migration (number integer primary key, name text not null, applied_at bigint not null)')
  for (const { number, name, up } of migrations.slice(0, 5)) {
    await up(db, sqliteMigrationDialect)
    raw.prepare('insert into schema_migration values (?, ?, 0)').run(number, name)
  }
  raw.exec("insert into collector (collector_id, name, created_at) values ('col', 'x', 1)")
  raw.exec(
    "insert into api_key (key_id, collector_id, prefix, hash, created_at) values ('key_a', 'col', 'tml_', 'key_a', 1)",
  )
  raw.close()
  assert.equal((await sqliteSchema(storePath(backup))).newest, 5)
  await changed(replaced, collector, key('key_a'), { kind: 'key.revoke', keyId: 'key_a' })
  const access = await prepareRestored(storePath(backup), storePath(replaced), madeAt, 500)
  assert.ok('carried' in access)
  assert.deepEqual(
    access.carried.keptRevoked.map(({ keyId, owner }) => [keyId, owner]),
    [['key_a', { kind: 'collector', id: 'col' }]],
  )
  assert.equal((await sqliteSchema(storePath(backup))).newest, newestMigration)
})

test('a damaged store is not in use after it was read, and can be replaced', async (t) => {
  const whole = folder(t)
  await changed(whole, dataset, collector)
  const open = await openSqliteStore(whole)
  await open.store.content.ingest(documents('kept', 200), Date.now())
  await open.close()
  const bytes = readFileSync(storePath(whole))
  const damages: Record<string, (damaged: Buffer) => Buffer> = {
    'cut in half': (damaged) => damaged.subarray(0, damaged.length >> 1),
    'one page left': (damaged) => damaged.subarray(0, 4096),
    'the schema overwritten': (damaged) => damaged.fill(7, 100, 4096),
    'all but the beginning overwritten': (damaged) => damaged.fill(7, 24_576),
    'a page overwritten': (damaged) =>
      damaged.fill(7, (damaged.length >> 1) & ~4095, ((damaged.length >> 1) & ~4095) + 4096),
    'no database': (damaged) => damaged.fill(7),
    empty: () => Buffer.alloc(0),
  }
  for (const [name, damage] of Object.entries(damages)) {
    const replaced = storePath(folder(t))
    const backup = storePath(folder(t))
    writeFileSync(backup, bytes)
    writeFileSync(replaced, damage(Buffer.from(bytes)))
    refuseInUse(replaced)
    await prepareRestored(backup, replaced, madeAt, 2)
    assert.doesNotThrow(() => refuseInUse(replaced), name)
  }
})
