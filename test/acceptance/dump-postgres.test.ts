import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import pg from 'pg'
import { findPostgres } from '../../scripts/throwaway-postgres.ts'
import { freshDatabase } from '../support/fresh-database.ts'
import { until } from '../support/until.ts'
import { markedThrough } from './backups.ts'
import { documentOf, feedAnswer, feedPage, send, wholeFeed } from './content.ts'
import { freshFolder, startServer, type TestServer } from './harness.ts'

/** The names of all entries of the record of removals. */
const recordIn = ({ TIDEMARK_ARTIFACTS_URL: place }: { TIDEMARK_ARTIFACTS_URL: string }): string[] =>
  readdirSync(fileURLToPath(place), { recursive: true, encoding: 'utf8' }).map((path) => basename(path))

/** Follows the backup instructions for PostgreSQL in docs/operations.md. */
test('a dump is restored as described: cursors are good, revoked keys dead, documents found, nothing new is missed', async () => {
  const [from, to] = [await freshDatabase(), await freshDatabase()]
  const place = { TIDEMARK_ARTIFACTS_URL: pathToFileURL(freshFolder()).href }
  const old = await startServer({ env: { TIDEMARK_DATABASE_URL: from.url, ...place } })
  await old.makeDataset('news')
  const { key, applicationId } = await old.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  const collector = (await old.makeCollector()).key
  await send(old, collector, [documentOf('kept', { title: 'Kept', body: 'a heron at the weir' })])
  const [live, revoked, rotated] = await Promise.all([1, 2, 3].map(() => old.makeKey(applicationId)))
  const { cursor: before } = await wholeFeed(old, key)

  const dump = join(freshFolder(), 'tidemark.dump')
  const bin = findPostgres()!
  execFileSync(join(bin, 'pg_dump'), ['--format=custom', `--file=${dump}`, from.url])
  await send(old, collector, [documentOf('lost'), documentOf('lost too')])
  const { cursor: beyond } = await wholeFeed(old, key)
  await old.mustAdmin('POST', `/admin/v1/keys/${revoked!.keyId}/revoke`)
  await old.mustAdmin('POST', `/admin/v1/keys/${rotated!.keyId}/rotate`, { grace_seconds: 0 })
  await until('the record has both', async () => {
    const names = recordIn(place).join()
    return names.includes(revoked!.keyId) && names.includes(rotated!.keyId)
  })
  await old.stop()

  execFileSync(join(bin, 'pg_restore'), [`--dbname=${to.url}`, dump])
  const advised = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const [advice] = /select setval\([^;]+;/.exec(advised)!
  const client = new pg.Client(to.url)
  await client.connect()
  await client.query(advice)
  await client.end()

  const restored = await startServer({ env: { TIDEMARK_DATABASE_URL: to.url, ...place } })
  assert.deepEqual((await feedPage(restored, key, { cursor: before })).items, [])
  await until('it is found', async () => {
    const { body } = await restored.consumer(key, 'POST', '/v1/search', { query: 'heron' })
    return body.results?.[0]?.title === 'Kept'
  })
  for (const [one, status] of [
    [live, 200],
    [revoked, 401],
    [rotated, 401],
  ] as const) {
    assert.equal((await restored.consumer(one!.key, 'GET', '/v1/account')).status, status)
  }
  const [made] = await send(restored, collector, [documentOf('new')])
  const { events } = await wholeFeed(restored, key, { cursor: before })
  assert.deepEqual(
    events.map((event) => event.document_id),
    [made!.document_id],
  )
  // A reader of lost events starts over.
  assert.equal((await feedAnswer(restored, key, { cursor: beyond })).status, 410)
  await restored.stop()
  await Promise.all([from.remove(), to.remove()])
})

/** The data folder has the mark of the newer database; the database is from an earlier time. */
for (const whileServed of [false, true]) {
  const when = whileServed ? 'under a server that runs' : 'before a server starts'
  test(`a dump that takes the place of the database ${when} is noticed`, async () => {
    const [from, to] = [await freshDatabase(), await freshDatabase()]
    const [name, restoredName] = [from, to].map(({ url }) => new URL(url).pathname.slice(1))
    const server = await startServer({ env: { TIDEMARK_DATABASE_URL: from.url } })
    await server.makeDataset('news')
    const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const collector = (await server.makeCollector()).key
    const many = (about: string, count: number) => Array.from({ length: count }, (_, i) => documentOf(`${about}-${i}`))
    await send(server, collector, many('kept', 5))
    const { cursor: early } = await wholeFeed(server, key)
    const dump = join(freshFolder(), 'tidemark.dump')
    const bin = findPostgres()!
    execFileSync(join(bin, 'pg_dump'), ['--format=custom', `--file=${dump}`, from.url])
    execFileSync(join(bin, 'pg_restore'), [`--dbname=${to.url}`, dump])
    await send(server, collector, many('lost', 20))
    const { cursor: late, events } = await wholeFeed(server, key)
    await markedThrough(server, events.at(-1)!.sequence)

    if (!whileServed) await server.stop()
    const client = new pg.Client(process.env.TEST_DATABASE_URL)
    await client.connect()
    await client.query(`alter database ${name} with allow_connections false`)
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
    await until('nobody has the database', async () => {
      const open = await client.query('select from pg_stat_activity where datname = any($1)', [[name, restoredName]])
      return open.rowCount === 0
    })
    await client.query(`alter database ${name} rename to ${name}_lost`)
    await client.query(`alter database ${restoredName} rename to ${name}`)
    if (!whileServed) await server.start()

    await until('the loss is said', async () => {
      const { body } = await server.call('GET', '/readyz')
      return /to have gone back in time: its last event was/.test(body.checks.store.detail)
    })
    assert.equal(server.logs.filter(({ msg }) => /rolled back to an earlier state/.test(String(msg))).length, 1)
    await send(server, collector, many('new', 25))
    const page = await feedPage(server, key, { cursor: early, limit: 200 })
    assert.equal(page.items.length, 25)
    assert.ok(page.items[0]!.sequence > events.at(-1)!.sequence)
    const answer = await feedAnswer(server, key, { cursor: late })
    assert.deepEqual([answer.status, answer.body.code], [410, 'cursor_expired'])
    const found = async (query: string): Promise<number> =>
      (await server.consumer(key, 'POST', '/v1/search', { query, limit: 100 })).body.results?.length
    await until('the search index has what the store has', async () => (await found('new')) === 25)
    assert.equal(await found('lost'), 0)
    await server.stop()
    await client.query(`drop database ${name}_lost`)
    await client.end()
    await from.remove()
  })
}

test('a person who was erased after the dump stays erased, is refused, and is told of; keys that were ended stay so', async () => {
  const [from, to] = [await freshDatabase(), await freshDatabase()]
  const place = { TIDEMARK_ARTIFACTS_URL: pathToFileURL(freshFolder()).href }
  const old = await startServer({ env: { TIDEMARK_DATABASE_URL: from.url, ...place } })
  await old.makeDataset('news')
  const { key, applicationId } = await old.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  const collector = (await old.makeCollector()).key
  const person = { author: { external_author_id: 'u1', nickname: 'Jane' } }
  const known = Array.from({ length: 250 }, (_, i) =>
    documentOf(`known ${i}`, { ...person, body: 'a heron at the weir' }),
  )
  const later = [documentOf('later 1', person), documentOf('later 2', person)]
  const others = [documentOf('other 1', { body: 'a heron too' }), documentOf('other 2')]
  const sent = await send(old, collector, [...known, ...others])
  const keys = await Promise.all(Array.from({ length: 5 }, () => old.makeKey(applicationId)))
  const [revoked, rotated, shortened, live, deleted] = keys as [Made, Made, Made, Made, Made]
  type Made = (typeof keys)[number]
  const token = await old.mustAdmin('POST', '/admin/v1/tokens', { name: 'Bob', role: 'viewer' })
  const ofErased = { event_type: 'document.erased' }
  const { cursor } = await wholeFeed(old, key, ofErased)
  const dump = join(freshFolder(), 'tidemark.dump')
  const bin = findPostgres()!
  execFileSync(join(bin, 'pg_dump'), ['--format=custom', `--file=${dump}`, from.url])

  await send(old, collector, later)
  const author = { dataset_id: 'news', source_platform: 'rss', external_author_id: 'u1' }
  const begun = await old.mustAdmin('POST', '/admin/v1/erasures', { author })
  assert.equal(begun.documents, 252)
  const erasure = (at: TestServer) => at.mustAdmin('GET', `/admin/v1/erasures/${begun.erasure_id}`)
  const isCompleted = async (at: TestServer) => (await erasure(at)).status === 'completed'
  await until('the erasure is completed', () => isCompleted(old))
  assert.ok(recordIn(place).includes(`${begun.erasure_id}.1.last.json`), 'completed, and so in the record')
  await old.mustAdmin('POST', `/admin/v1/keys/${revoked.keyId}/revoke`)
  await old.mustAdmin('POST', `/admin/v1/keys/${deleted.keyId}/revoke`)
  await old.mustAdmin('POST', `/admin/v1/tokens/${token.token_id}/revoke`)
  await old.mustAdmin('POST', `/admin/v1/keys/${rotated.keyId}/rotate`, { grace_seconds: 0 })
  await old.mustAdmin('POST', `/admin/v1/keys/${shortened.keyId}/rotate`, { grace_seconds: 3600 })
  const ended = [revoked.keyId, deleted.keyId, token.token_id, rotated.keyId, shortened.keyId]
  await until('the record has all keys', async () => ended.every((id) => recordIn(place).join().includes(id)))
  await old.stop()

  execFileSync(join(bin, 'pg_restore'), [`--dbname=${to.url}`, dump])
  const advised = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const client = new pg.Client(to.url)
  await client.connect()
  await client.query(/select setval\([^;]+;/.exec(advised)![0])
  const inDump = (await client.query(`select count(*) from document where external_author_id = 'u1'`)).rows[0].count
  assert.equal(inDump, '250', 'the dump has the person')
  await client.end()

  const { dataDir } = old
  for (const name of readdirSync(dataDir)) if (/^search[-.]/.test(name)) rmSync(join(dataDir, name))
  // A process with the role `api` is not ready until a worker has repeated the entries of the record.
  const env = { TIDEMARK_DATABASE_URL: to.url, ...place }
  const api = await startServer({ dataDir, env: { ...env, TIDEMARK_ROLES: 'api' } })
  const notYet = await api.call('GET', '/readyz')
  assert.equal(notYet.status, 503)
  assert.equal(notYet.body.checks.removals.ok, false)
  assert.match(
    notYet.body.checks.removals.detail,
    /the store lacks 1 erasures and 5 ends of keys that it has; a process with the role worker/,
  )
  const worker = await startServer({ env: { ...env, TIDEMARK_ROLES: 'worker' } })
  await until('it is ready', async () => (await api.call('GET', '/readyz')).status === 200)

  const dryRun = await api.tidemark(['erase', 'author', 'news', 'rss', 'u1', '--dry-run'])
  assert.match(dryRun.stderr, /found no documents/)
  const ids = sent.map((one) => one.document_id!)
  const read = await api.consumer(key, 'POST', '/v1/documents/batch-get', { document_ids: ids.slice(0, 200) })
  assert.deepEqual([read.body.documents.length, read.body.missing.length], [0, 200])
  await until('the erasure is completed again', () => isCompleted(api))
  const { documents, removed } = await erasure(api)
  assert.deepEqual([documents, removed], [252, 252])
  assert.match((await api.tidemark(['erase', 'list'])).stdout, new RegExp(begun.erasure_id))
  const found = await api.consumer(key, 'POST', '/v1/search', { query: 'heron', limit: 100 })
  assert.deepEqual(
    found.body.results.map((one: { document_id: string }) => one.document_id),
    [ids[250]],
  )
  const { events } = await wholeFeed(api, key, { ...ofErased, cursor })
  assert.equal(events.length, 250)
  assert.deepEqual(new Set(events.map((event) => event.document_id)), new Set(ids.slice(0, 250)))
  const again = await send(api, collector, [known[0], later[0], later[1], others[0]])
  assert.deepEqual(
    again.map(({ outcome }) => outcome),
    ['erased', 'erased', 'erased', 'unchanged'],
  )
  const status = async (secret: string) => (await api.consumer(secret, 'GET', '/v1/account')).status
  const statuses = await Promise.all(keys.map((one) => status(one.key)))
  assert.deepEqual(statuses, [401, 401, 200, 200, 401])
  assert.equal((await api.as(token.admin_token, 'GET', '/admin/v1/self')).status, 401)
  const listed = (await api.mustAdmin('GET', '/admin/v1/keys')).keys
  const expiry = listed.find((one: { key_id: string }) => one.key_id === shortened.keyId).expires_at
  assert.ok(Date.parse(expiry) < Date.now() + 3_600_000)
  assert.equal(listed.find((one: { key_id: string }) => one.key_id === live.keyId).expires_at, null)
  const { audit } = await api.mustAdmin('GET', '/admin/v1/audit?limit=50')
  const byRecord = audit.filter((line: { actor: string }) => line.actor === 'removal-record')
  assert.deepEqual(byRecord.map((line: { action: string }) => line.action).sort(), [
    'admin_token.revoke',
    'erasure.replay',
    'key.expire',
    'key.expire',
    'key.revoke',
    'key.revoke',
  ])
  const [told] = worker.logs.filter((line) => /the store is older than the record/.test(String(line.msg)))
  assert.deepEqual([told!.erasures, told!.documents, told!.keys], [1, 250, 5])
  await Promise.all([api.stop(), worker.stop()])
  await Promise.all([from.remove(), to.remove()])
})
