import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { findPostgres } from '../../scripts/throwaway-postgres.ts'
import { freshDatabase } from '../support/fresh-database.ts'
import { until } from '../support/until.ts'
import { documentOf, feedPage, send, wholeFeed } from './content.ts'
import { freshFolder, startServer } from './harness.ts'

/** What docs/operations.md says of backups on PostgreSQL, done as it says. */
test('a dump is restored as described: cursors are good, revoked keys dead, documents found, nothing new is missed', async () => {
  const [from, to] = [await freshDatabase(), await freshDatabase()]
  const old = await startServer({ env: { TIDEMARK_DATABASE_URL: from.url } })
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
  await old.stop()

  execFileSync(join(bin, 'pg_restore'), [`--dbname=${to.url}`, dump])
  const advised = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const [advice] = /select setval\([^;]+;/.exec(advised)!
  const client = new pg.Client(to.url)
  await client.connect()
  await client.query(advice)
  await client.end()
  const [, carryOver] = /```sh\n(psql [^`]+)```/.exec(advised)!
  const env = { PATH: `${bin}:${process.env.PATH}`, OLD: from.url, NEW: to.url }
  execFileSync('sh', ['-c', carryOver!], { env, stdio: ['ignore', 'ignore', 'inherit'] })

  const restored = await startServer({ env: { TIDEMARK_DATABASE_URL: to.url } })
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
  for (const cursor of [before, beyond]) {
    const { events } = await wholeFeed(restored, key, { cursor })
    assert.deepEqual(
      events.map((event) => event.document_id),
      [made!.document_id],
    )
  }
  await restored.stop()
  await Promise.all([from.remove(), to.remove()])
})
