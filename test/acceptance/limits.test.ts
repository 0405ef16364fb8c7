import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../support/until.ts'
import { expectError } from './expect-error.ts'
import { sharedServer, type TestServer } from './harness.ts'

let server: TestServer

before(async () => {
  server = await sharedServer()
  await server.makeDataset('news')
})

const account = (key: string) => server.consumer(key, 'GET', '/v1/account')
const setPolicy = (applicationId: string, policy: object) =>
  server.mustAdmin('PATCH', `/admin/v1/applications/${applicationId}`, { policy })

test('GET /v1/account tells who is asking, what it may, and what it has used today', async () => {
  const entitlements = [{ datasets: ['news'], languages: ['en'], fields: ['title', 'body'] }]
  const { applicationId, key } = await server.makeApplication({
    name: 'Account',
    entitlements,
    policy: { daily_quotas: { changes: 5 } },
  })
  const first = await account(key)
  assert.equal(first.status, 200)
  assert.equal(first.body.application_id, applicationId)
  assert.equal(first.body.name, 'Account')
  const [{ entitlement_id, ...entry }] = first.body.entitlements
  assert.match(entitlement_id, /^ent_/)
  assert.deepEqual(entry, entitlements[0])
  assert.equal(first.body.policy.analysis_enabled, false)
  assert.deepEqual(first.body.policy.daily_quotas, { changes: 5 })
  assert.equal(first.body.usage.day, new Date().toISOString().slice(0, 10))
  await account(key)
  await server.consumer(key, 'GET', '/v1/changes')
  const { operations } = (await account(key)).body.usage
  assert.deepEqual(operations, { 'account.read': 2, 'changes.read': 1 })
})

test('GET /v1/account tells of an embedding profile from the moment it is active until it no longer is', async () => {
  const { key } = await server.makeApplication()
  const isTold = async () =>
    (await account(key)).body.embedding_profiles.some(({ id }: { id: string }) => id === 'told')
  const put = (status: string) =>
    server.mustAdmin('PUT', '/admin/v1/embedding-profiles/told', {
      provider: 'http',
      model: 'm',
      dimensions: 8,
      status,
    })
  assert.equal(await isTold(), false)
  await put('active')
  assert.equal(await isTold(), true)
  await put('inactive')
  assert.equal(await isTold(), false)
})

test("today's use never goes back, while it is being written and after a restart", async () => {
  const { applicationId, key } = await server.makeApplication()
  let last = 0
  const started = performance.now()
  let asked = 0
  // Longer than a second, so that at least one write of the usage happens meanwhile.
  while (performance.now() - started < 1300) {
    const used = (await account(key)).body.usage.operations['account.read'] ?? 0
    assert.equal(used, asked, `after ${asked} requests`)
    assert.ok(used >= last)
    last = used
    asked++
  }
  await server.restart()
  assert.equal((await account(key)).body.usage.operations['account.read'], asked)
  const { usage } = await server.mustAdmin('GET', `/admin/v1/usage?application_id=${applicationId}`)
  assert.equal(usage.length, 1)
  assert.equal(usage[0].operation, 'account.read')
  assert.ok(usage[0].used >= asked)
})

test('the rate: burst at once, then 429 with Retry-After, then again after that time', async () => {
  const { key } = await server.makeApplication({ policy: { requests_per_second: 0.25, burst: 3 } })
  for (const remaining of [2, 1, 0]) {
    const answer = await account(key)
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('ratelimit-policy'), '"requests";q=3;w=12')
    assert.match(answer.headers.get('ratelimit') ?? '', new RegExp(`^"requests";r=${remaining};t=([1-9]|1[0-2])$`))
  }
  const refused = await account(key)
  await expectError(server, refused, 429, 'rate_limit_exceeded')
  assert.match(refused.headers.get('ratelimit') ?? '', /^"requests";r=0;t=/)
  assert.ok(refused.headers.has('ratelimit-policy'))
  await delay(Number(refused.headers.get('retry-after')) * 1000)
  assert.equal((await account(key)).status, 200)
})

test('bad requests count against the rate; without a valid key nothing does', async () => {
  const { key } = await server.makeApplication({ policy: { requests_per_second: 0.001, burst: 3 } })
  await expectError(server, await server.consumer(key, 'GET', '/v1/account?wrong=1'), 400, 'invalid_request')
  const bad = await server.consumer(key, 'GET', '/v1/account?wrong=1')
  assert.match(bad.headers.get('ratelimit') ?? '', /r=1/)
  for (let i = 0; i < 5; i++) assert.equal((await account(`${key}x`)).status, 401)
  assert.equal((await account(key)).status, 200)
  // 429 comes before 400, and 401 before both.
  await expectError(server, await server.consumer(key, 'GET', '/v1/account?wrong=1'), 429, 'rate_limit_exceeded')
  await expectError(server, await server.consumer(`${key}x`, 'GET', '/v1/account?wrong=1'), 401, 'unauthorized')
})

test('the rate is of the application: its keys share it, other applications do not', async () => {
  const one = await server.makeApplication({ policy: { requests_per_second: 0.001, burst: 4 } })
  const second = await server.makeKey(one.applicationId)
  const other = await server.makeApplication({ policy: { requests_per_second: 0.001, burst: 4 } })
  const racing = await Promise.all(Array.from({ length: 40 }, (_, i) => account(i % 2 === 0 ? one.key : second.key)))
  assert.equal(racing.filter(({ status }) => status === 200).length, 4)
  assert.equal(racing.filter(({ status }) => status === 429).length, 36)
  assert.equal((await account(other.key)).status, 200)
})

test('a changed policy acts on the next request', async () => {
  const { applicationId, key } = await server.makeApplication({ policy: { requests_per_second: 0.001, burst: 1 } })
  assert.equal((await account(key)).status, 200)
  assert.equal((await account(key)).status, 429)
  await setPolicy(applicationId, { requests_per_second: 100_000, burst: 50 })
  await until('the bucket fills at the new rate', async () => (await account(key)).status === 200)
  assert.equal((await account(key)).body.policy.burst, 50)
  await setPolicy(applicationId, { burst: null })
  assert.equal((await account(key)).body.policy.burst, 200_000)
})

test('changed entitlements act on the next request', async () => {
  const { applicationId, key } = await server.makeApplication()
  await expectError(server, await server.consumer(key, 'GET', '/v1/changes'), 403, 'entitlement_denied')
  const path = `/admin/v1/applications/${applicationId}/entitlements`
  await server.mustAdmin('PUT', path, { entitlements: [{ datasets: ['news'] }] })
  assert.equal((await server.consumer(key, 'GET', '/v1/changes')).status, 200)
  assert.equal((await account(key)).body.entitlements.length, 1)
  await server.mustAdmin('PUT', path, { entitlements: [] })
  await expectError(server, await server.consumer(key, 'GET', '/v1/changes'), 403, 'entitlement_denied')
  assert.deepEqual((await account(key)).body.entitlements, [])
})

test('a daily quota: as many as it says however many race, then 429 until midnight', async () => {
  const { key } = await server.makeApplication({
    entitlements: [{ datasets: ['news'] }],
    policy: { daily_quotas: { changes: 7 } },
  })
  const racing = await Promise.all(Array.from({ length: 60 }, () => server.consumer(key, 'GET', '/v1/changes')))
  assert.equal(racing.filter(({ status }) => status === 200).length, 7)
  const refused = racing.find(({ status }) => status === 429)!
  await expectError(server, refused, 429, 'quota_exceeded')
  const toMidnight = 86_400 - (Math.floor(Date.now() / 1000) % 86_400)
  assert.ok(Math.abs(Number(refused.headers.get('retry-after')) - toMidnight) <= 30)
  assert.match(
    refused.body.message,
    /^the daily quota changes \(7 per UTC day\) is used up: it resets at \S+T00:00:00.000Z$/,
  )
  const [, newAt] = / resets at (.*)$/.exec(refused.body.message)!
  assert.ok(Date.parse(newAt!) > Date.now() && Date.parse(newAt!) <= Date.now() + 86_400_000)
  assert.deepEqual(refused.body.details, [
    { path: 'policy.daily_quotas.changes', message: `7 per UTC day, reset at ${newAt}` },
  ])
  assert.equal((await account(key)).body.usage.operations['changes.read'], 7)
})

test('what is refused takes nothing from a quota, and a quota of 0 lets nothing through', async () => {
  const { applicationId, key } = await server.makeApplication({ policy: { daily_quotas: { changes: 1 } } })
  await expectError(server, await server.consumer(key, 'GET', '/v1/changes?limit=x'), 400, 'invalid_changes_query')
  await expectError(server, await server.consumer(key, 'GET', '/v1/changes'), 403, 'entitlement_denied')
  await server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, {
    entitlements: [{ datasets: ['news'] }],
  })
  assert.equal((await server.consumer(key, 'GET', '/v1/changes')).status, 200)
  await expectError(server, await server.consumer(key, 'GET', '/v1/changes'), 429, 'quota_exceeded')
  await setPolicy(applicationId, { daily_quotas: { changes: 2 } })
  assert.equal((await server.consumer(key, 'GET', '/v1/changes')).status, 200)
  await setPolicy(applicationId, { daily_quotas: { changes: 0 } })
  await expectError(server, await server.consumer(key, 'GET', '/v1/changes'), 429, 'quota_exceeded')
  assert.equal((await account(key)).body.usage.operations['changes.read'], 2)
})
