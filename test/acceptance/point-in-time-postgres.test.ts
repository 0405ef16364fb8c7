import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { findPostgres } from '../../scripts/throwaway-postgres.ts'
import { freePort, unprivileged } from '../../scripts/throwaway-server.ts'
import { until } from '../support/until.ts'
import { documentOf, send, wholeFeed } from './content.ts'
import { freshFolder, noVectors, startServer } from './harness.ts'

async function query(url: string, text: string) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** With the commands of docs/operations.md, on its own server that archives its log. */
test('a database that is restored to a point in time: what was erased and revoked after it is so again', async (t) => {
  const bin = findPostgres()!
  const home = mkdtempSync('/tmp/tidemark-point-in-time-')
  const owner = unprivileged()
  if (owner !== null) chownSync(home, owner.uid, owner.gid)
  const [data, base, archive] = ['data', 'base', 'archive'].map((name) => join(home, name)) as [string, string, string]
  const port = await freePort()
  const url = `postgres://tidemark@127.0.0.1:${port}/postgres`
  const env = { PATH: `${bin}:${process.env.PATH}`, LC_ALL: 'C.UTF-8', PGDATA: data, TIDEMARK_DATABASE_URL: url }
  const as = { ...(owner ?? {}), cwd: home, env, stdio: 'ignore' as const }
  const run = (command: string) => execFileSync('sh', ['-ec', command], as)
  t.after(() => {
    try {
      run('pg_ctl stop --mode=immediate')
    } finally {
      rmSync(home, { recursive: true, force: true })
    }
  })
  run('initdb -U tidemark --auth=trust -E UTF8 --no-sync')
  mkdirSync(archive)
  if (owner !== null) chownSync(archive, owner.uid, owner.gid)
  const archives = `archive_mode=on\narchive_command='cp "%p" ${archive}/%f'\n`
  const settings = `port=${port}\nlisten_addresses='127.0.0.1'\nunix_socket_directories='${home}'\nfsync=off\n`
  appendFileSync(join(data, 'postgresql.conf'), `${settings}${archives}`)
  run('pg_ctl start --wait')

  const advised = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const [, block] = /```sh\n(pg_basebackup [^`]+)```/.exec(advised)!
  const [backup, restore] = block!
    .replaceAll('/backups/base', base)
    .replaceAll('/backups/archive', archive)
    .split('\n\n') as [string, string]
  const artifacts = freshFolder()
  const settingsOf = {
    ...noVectors,
    TIDEMARK_DATABASE_URL: url,
    TIDEMARK_ARTIFACTS_URL: pathToFileURL(artifacts).href,
  }
  const old = await startServer({ env: settingsOf })
  await old.makeDataset('news')
  run(backup)
  // All of this is only in the archived log.
  const { key, applicationId } = await old.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  const revoked = await old.makeKey(applicationId)
  const { key: collector } = await old.makeCollector()
  const person = { author: { external_author_id: 'u1', nickname: 'Jane' } }
  const sent = await send(old, collector, [documentOf('one', person), documentOf('two', person), documentOf('other')])
  const [{ now }] = (await query(url, 'select now()::text')) as [{ now: string }]

  await send(old, collector, [documentOf('after')])
  const author = { dataset_id: 'news', source_platform: 'rss', external_author_id: 'u1' }
  const begun = await old.mustAdmin('POST', '/admin/v1/erasures', { author })
  const path = `/admin/v1/erasures/${begun.erasure_id}`
  await old.mustAdmin('POST', `/admin/v1/keys/${revoked.keyId}/revoke`)
  await until('it is completed', async () => (await old.mustAdmin('GET', path)).status === 'completed')
  await until('the record has the key', async () =>
    readdirSync(artifacts, { recursive: true, encoding: 'utf8' }).some((name) => name.includes(revoked.keyId)),
  )
  await old.stop()
  await query(url, 'select pg_switch_wal()')
  run('pg_ctl stop --mode=fast')

  renameSync(data, `${data}-lost`)
  run(restore.replace('2026-11-15 13:45:00+00', now))
  await until('it is promoted', async () => {
    const [found] = await query(url, 'select pg_is_in_recovery() as recovering')
    return found.recovering === false
  })
  const stored = await query(url, 'select external_author_id, external_id from document order by external_id')
  assert.deepEqual(
    stored.map((row) => row.external_id),
    ['one', 'other', 'two'],
  )
  await query(url, /select setval\([^;]+;/.exec(advised)![0])

  const restored = await startServer({ env: settingsOf })
  await until('it is ready', async () => (await restored.call('GET', '/readyz')).status === 200)
  const count = await restored.tidemark(['erase', 'author', 'news', 'rss', 'u1', '--dry-run'])
  assert.match(count.stderr, /found no documents/)
  await until('it is completed again', async () => (await restored.mustAdmin('GET', path)).status === 'completed')
  assert.deepEqual(await query(url, 'select external_id from document'), [{ external_id: 'other' }])
  const statuses = [key, revoked.key].map((one) => restored.consumer(one, 'GET', '/v1/account'))
  assert.deepEqual(
    (await Promise.all(statuses)).map(({ status }) => status),
    [200, 401],
  )
  const { events } = await wholeFeed(restored, key, { event_type: 'document.erased' })
  assert.deepEqual(events.map((event) => event.document_id).sort(), [sent[0]!.document_id, sent[1]!.document_id].sort())
  await restored.stop()
})
