import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { expectError } from './expect-error.ts'
import { freshKey, type LiveWorld, liveBody, startLiveWorld } from './live-world.ts'

let world: LiveWorld
before(async () => {
  world = await startLiveWorld()
})

const audited = async (action: string) =>
  (await world.server.mustAdmin('GET', '/admin/v1/audit')).audit
    .filter((line: { action: string }) => line.action === action)
    .map((line: { target: string }) => line.target)

test('an application in use is deleted only by force; its keys die with it, the audit log stays', async () => {
  const { server } = world
  const { applicationId, key, keyId } = await server.makeApplication({
    entitlements: [{ datasets: ['news'] }],
    policy: { analysis_enabled: true },
  })
  const path = `/admin/v1/applications/${applicationId}`
  const [profile] = (await server.consumer(key, 'GET', '/v1/account')).body.embedding_profiles
  const subscription = await server.consumer(key, 'POST', '/v1/analysis/subscriptions', {
    name: 'daily',
    analysis_type: 'knn_graph',
    input_scope: { dataset_ids: ['news'] },
    execution_mode: 'scheduled',
    interval_seconds: 3600,
    embedding_profile_id: profile.id,
  })
  assert.equal(subscription.status, 201, subscription.text)

  const refused = await server.admin('DELETE', path)
  await expectError(server, refused, 409, 'in_use')
  assert.deepEqual(refused.body.details, [
    { path: 'keys', message: 'valid keys: 1' },
    { path: 'subscriptions', message: 'subscriptions: 1' },
  ])
  assert.equal((await server.consumer(key, 'GET', '/v1/account')).status, 200)

  await expectError(server, await server.admin('DELETE', `${path}?force=maybe`), 400, 'invalid_request')
  const deleted = await server.admin('DELETE', `${path}?force=true`)
  assert.deepEqual([deleted.status, deleted.text], [204, ''])
  await expectError(server, await server.consumer(key, 'GET', '/v1/account'), 401, 'unauthorized')
  for (const method of ['GET', 'DELETE']) {
    await expectError(server, await server.admin(method, path), 404, 'not_found')
  }
  await expectError(server, await server.admin('POST', `${path}/keys`), 404, 'not_found')
  const { keys } = await server.mustAdmin('GET', '/admin/v1/keys')
  const line = keys.find((one: { key_id: string }) => one.key_id === keyId)
  assert.equal(line.application_id, applicationId)
  assert.notEqual(line.revoked_at, null)
  assert.deepEqual(await audited('application.delete'), [applicationId])
  assert.ok((await audited('application.create')).includes(applicationId))
})

test('an application that nothing uses any more is deleted as it is', async () => {
  const { server } = world
  const { applicationId, keyId } = await server.makeApplication()
  await server.mustAdmin('POST', `/admin/v1/keys/${keyId}/revoke`)
  assert.equal((await server.admin('DELETE', `/admin/v1/applications/${applicationId}`)).status, 204)
})

test('a collector that holds a task is deleted only by force; another gets the task later', async () => {
  const { server } = world
  const { collectorId, key } = await server.makeCollector()
  assert.deepEqual(await world.tasks({}, key), [])
  assert.equal((await world.ask(liveBody, freshKey())).status, 202)
  assert.equal((await world.tasks({}, key)).length, 1)
  const path = `/admin/v1/collectors/${collectorId}`
  const refused = await server.admin('DELETE', path)
  await expectError(server, refused, 409, 'in_use')
  assert.deepEqual(refused.body.details, [
    { path: 'keys', message: 'valid keys: 1' },
    { path: 'tasks', message: 'tasks in progress: 1' },
  ])
  assert.equal((await server.admin('DELETE', `${path}?force=true`)).status, 204)
  await expectError(server, await world.lease({}, key), 401, 'unauthorized')
  await expectError(server, await server.admin('DELETE', path), 404, 'not_found')
  assert.deepEqual(await audited('collector.delete'), [collectorId])
})

test('a collector whose key works is in use; one whose keys are revoked is deleted as it is', async () => {
  const { server } = world
  const { collectorId } = await server.makeCollector()
  const path = `/admin/v1/collectors/${collectorId}`
  const refused = await server.admin('DELETE', path)
  await expectError(server, refused, 409, 'in_use')
  assert.deepEqual(refused.body.details, [{ path: 'keys', message: 'valid keys: 1' }])
  const { keys } = await server.mustAdmin('GET', '/admin/v1/keys')
  const own = keys.find((one: { collector_id?: string }) => one.collector_id === collectorId)
  await server.mustAdmin('POST', `/admin/v1/keys/${own.key_id}/revoke`)
  assert.equal((await server.admin('DELETE', path)).status, 204)
})
