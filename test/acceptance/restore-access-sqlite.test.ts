import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { absentFolder, backedUp } from './backups.ts'
import { documentOf, send } from './content.ts'
import { noVectors, startServer, type TestServer, tidemark } from './harness.ts'

suite('who may use a restored instance', () => {
  let server: TestServer
  let backup: string
  let kept: { applicationId: string; key: string; keyId: string }
  let revoked: { key: string; keyId: string }
  let rotated: { key: string; keyId: string }
  let inGrace: { key: string; keyId: string }
  let collector: { key: string; keyId: string; collectorId: string }
  let later: { applicationId: string; key: string; keyId: string }

  const account = async (at: TestServer, key: string) => (await at.consumer(key, 'GET', '/v1/account')).status
  const collects = async (at: TestServer, key: string) =>
    (await at.collector(key, 'POST', '/collector/v1/tasks/lease', { platforms: ['rss'] })).status

  before(async () => {
    server = await startServer()
    await server.makeDataset('news')
    kept = await server.makeApplication({ name: 'Kept', entitlements: [{ datasets: ['news'] }] })
    revoked = await server.makeKey(kept.applicationId)
    rotated = await server.makeKey(kept.applicationId)
    inGrace = await server.makeKey(kept.applicationId)
    const made = await server.mustAdmin('POST', '/admin/v1/collectors', { name: 'Crawler' })
    collector = { key: made.collector_key, keyId: made.key_id, collectorId: made.collector_id }
    backup = await backedUp(server)

    for (const { keyId } of [revoked, collector]) await server.mustAdmin('POST', `/admin/v1/keys/${keyId}/revoke`)
    await server.mustAdmin('POST', `/admin/v1/keys/${rotated.keyId}/rotate`, { grace_seconds: 0 })
    await server.mustAdmin('POST', `/admin/v1/keys/${inGrace.keyId}/rotate`, { grace_seconds: 3600 })
    await server.mustAdmin('PATCH', `/admin/v1/applications/${kept.applicationId}`, { policy: { burst: 7 } })
    await server.mustAdmin('PUT', `/admin/v1/applications/${kept.applicationId}/entitlements`, { entitlements: [] })
    later = await server.makeApplication({ name: 'Later' })
    await server.stop()
  })

  test('over the instance: what it had revoked stays revoked, and all that differs is named', async () => {
    const { code, stdout, stderr } = await tidemark(['restore', backup, '--force'], { dataDir: server.dataDir })
    assert.equal(code, 0, stderr)
    /** The names under a heading. */
    const named = (heading: RegExp): string[] => {
      const lines = stdout.split('\n')
      const from = lines.findIndex((line) => heading.test(line))
      assert.ok(from >= 0, `${heading} is not in\n${stdout}`)
      const rest = lines.slice(from + 1)
      const count = rest.findIndex((line) => !line.startsWith('  '))
      assert.equal(lines[from]!.split(': ').at(-1), String(count))
      return rest.slice(0, count).map((line) => line.trim().split(/[ :]/)[0]!)
    }
    assert.deepEqual(
      named(/^keys that stay revoked or expired/).sort(),
      [revoked.keyId, rotated.keyId, collector.keyId].sort(),
    )
    assert.deepEqual(named(/^keys that keep the expiry/), [inGrace.keyId])
    assert.match(stdout, new RegExp(`${kept.applicationId} "Kept": policy and entitlements`))
    const gone = named(/^valid keys that are lost/)
    assert.ok(gone.includes(later.keyId) && gone.length === 3, 'the replacements of the rotated keys are gone too')
    assert.doesNotMatch(stdout, /did not have|are valid again|admin token/)

    await server.start()
    assert.equal(await account(server, kept.key), 200)
    assert.equal(await account(server, inGrace.key), 200)
    for (const { key } of [revoked, rotated, later]) assert.equal(await account(server, key), 401)
    assert.equal(await collects(server, collector.key), 401)
    const { keys } = await server.mustAdmin('GET', '/admin/v1/keys')
    const ending = keys.find((one: { key_id: string }) => one.key_id === inGrace.keyId)
    assert.ok(Date.parse(ending.expires_at) < Date.now() + 3_600_000)
    const { policy } = await server.mustAdmin('GET', `/admin/v1/applications/${kept.applicationId}`)
    assert.notEqual(policy.burst, 7)

    const { audit } = await server.mustAdmin('GET', '/admin/v1/audit?limit=20')
    const byRestore = audit.filter((line: { actor: string }) => line.actor === 'restore')
    assert.deepEqual(byRestore.map((line: { action: string }) => line.action).sort(), [
      'instance.restore',
      'key.expire',
      'key.expire',
      'key.revoke',
      'key.revoke',
    ])
    await server.stop()
  })

  test('once more from the same backup: the same keys stay revoked', async () => {
    const { code } = await tidemark(['restore', backup, '--force'], { dataDir: server.dataDir })
    assert.equal(code, 0)
    await server.start()
    assert.equal(await account(server, kept.key), 200)
    assert.equal(await account(server, revoked.key), 401)
    await server.stop()
  })

  test('over another instance: every key, application and collector of the backup is named as new there', async () => {
    const other = await startServer({ env: { TIDEMARK_ADMIN_TOKEN: '' } })
    await other.stop()
    const { code, stdout, stderr } = await tidemark(['restore', backup, '--force'], { dataDir: other.dataDir })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^valid keys that the replaced instance did not have: 5$/m)
    for (const { keyId } of [kept, revoked, rotated, inGrace, collector])
      assert.match(stdout, new RegExp(`  ${keyId} `))
    assert.match(
      stdout,
      new RegExp(`applications that the replaced instance did not have: 1\n  ${kept.applicationId} "Kept"`),
    )
    assert.match(stdout, new RegExp(`collectors that .* did not have: 1\n  ${collector.collectorId} "Crawler"`))
    assert.match(stdout, /cursor-key rotate --drop-old/)
  })

  for (const how of ['cannot be read', 'is gone'] as const) {
    test(`over a store that ${how}: the record beside the artifacts has what was erased and revoked since the backup`, async () => {
      const lost = await startServer({ env: noVectors })
      await lost.makeDataset('news')
      const { applicationId, key } = await lost.makeApplication({ entitlements: [{ datasets: ['news'] }] })
      const ended = await lost.makeKey(applicationId)
      const { key: collectorKey } = await lost.makeCollector()
      const [gone, stays] = await send(lost, collectorKey, [documentOf('gone'), documentOf('stays')])
      const made = await backedUp(lost)
      const erasure = await lost.mustAdmin('POST', '/admin/v1/erasures', { document_ids: [gone!.document_id] })
      const path = `/admin/v1/erasures/${erasure.erasure_id}`
      await until('it is completed', async () => (await lost.mustAdmin('GET', path)).status === 'completed')
      await lost.mustAdmin('POST', `/admin/v1/keys/${ended.keyId}/revoke`)
      const record = join(lost.dataDir, 'artifacts', 'removals')
      await until('the record has the key', async () =>
        readdirSync(record, { recursive: true, encoding: 'utf8' }).some((name) => name.includes(ended.keyId)),
      )
      await lost.stop()
      for (const name of readdirSync(lost.dataDir)) {
        if (name !== 'artifacts') rmSync(join(lost.dataDir, name), { recursive: true })
      }
      if (how === 'cannot be read') writeFileSync(join(lost.dataDir, 'tidemark.sqlite'), 'no database')
      const options = how === 'cannot be read' ? ['--force'] : []
      const { code, stdout, stderr } = await tidemark(['restore', made, ...options], { dataDir: lost.dataDir })
      assert.equal(code, 0, stderr)
      assert.match(stdout, /when the server starts, it applies its record of removals again \(\d+ entries\)/)
      assert.doesNotMatch(stdout, /valid again|there again/)
      await lost.start()
      assert.equal((await lost.call('GET', '/readyz')).body.checks.removals.ok, true)
      assert.deepEqual([await account(lost, key), await account(lost, ended.key)], [200, 401])
      const ids = [gone!.document_id, stays!.document_id]
      const read = await lost.consumer(key, 'POST', '/v1/documents/batch-get', { document_ids: ids })
      assert.deepEqual(read.body.missing, [gone!.document_id])
      await until('it is completed once more', async () => (await lost.mustAdmin('GET', path)).status === 'completed')
      const [again] = await send(lost, collectorKey, [documentOf('gone')])
      assert.equal(again!.outcome, 'erased')
      await lost.stop()
    })
  }

  test('where nothing was: it says that it cannot know, and how many keys are valid', async () => {
    const dataDir = absentFolder()
    const { code, stdout, stderr } = await tidemark(['restore', backup], { dataDir })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /there was no store here before: keys revoked after \d{4}-\S+Z are valid again/)
    assert.match(stdout, /^valid keys and admin tokens: 5; check tidemark key list and tidemark admin list/m)
    const fresh = await startServer({ dataDir })
    assert.equal(await account(fresh, revoked.key), 200)
    const [line] = (await fresh.mustAdmin('GET', '/admin/v1/audit?limit=1')).audit
    assert.equal(line.action, 'instance.restore')
    assert.equal(line.detail.compared, false)
    await fresh.stop()
  })
})
