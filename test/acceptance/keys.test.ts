import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { until } from '../support/until.ts'
import { expectError } from './expect-error.ts'
import { sharedServer, type TestServer } from './harness.ts'
import { operate } from './store-surgery.ts'

let server: TestServer
let applicationId: string
let key: string
let keyId: string

before(async () => {
  server = await sharedServer()
  ;({ applicationId, key, keyId } = await server.makeApplication({ name: 'Reader' }))
})

const account = (one: string) => server.consumer(one, 'GET', '/v1/account')
const status = async (one: string) => (await account(one)).status
const listed = async (id: string) =>
  (await server.mustAdmin('GET', '/admin/v1/keys')).keys.find((one: { key_id: string }) => one.key_id === id)

test('a key is shown once, when it is made: prefixed, long, and never again', async () => {
  const made = await server.admin('POST', `/admin/v1/applications/${applicationId}/keys`, { name: 'laptop' })
  assert.equal(made.status, 201)
  assert.deepEqual(Object.keys(made.body).sort(), ['api_key', 'expires_at', 'key_id'])
  assert.match(made.body.api_key, /^tmc_[a-z0-9]{40}$/)
  assert.match(made.body.key_id, /^key_[0-9a-z]{26}$/)
  assert.equal(await status(made.body.api_key), 200)

  const lists = [
    await server.admin('GET', `/admin/v1/applications/${applicationId}/keys`),
    await server.admin('GET', '/admin/v1/keys'),
    await server.admin('GET', '/admin/v1/audit'),
    await server.admin('GET', `/admin/v1/applications/${applicationId}`),
  ]
  for (const list of lists) {
    assert.equal(list.status, 200)
    assert.ok(!list.text.includes(made.body.api_key))
    assert.ok(!list.text.includes('hash'))
  }
  const one = await listed(made.body.key_id)
  assert.equal(one.name, 'laptop')
  assert.equal(one.prefix, made.body.api_key.slice(0, 8))
  assert.equal(one.application_id, applicationId)
})

test('revoking acts on the very next request, twice is no error, and the other keys live on', async () => {
  const doomed = await server.makeKey(applicationId)
  assert.equal(await status(doomed.key), 200)
  const revoked = await server.admin('POST', `/admin/v1/keys/${doomed.keyId}/revoke`)
  assert.equal(revoked.status, 200)
  await expectError(server, await account(doomed.key), 401, 'unauthorized')
  const again = await server.admin('POST', `/admin/v1/keys/${doomed.keyId}/revoke`)
  // The time of last use is recorded a moment later.
  assert.deepEqual({ ...again.body, last_used_at: null }, { ...revoked.body, last_used_at: null })
  assert.equal(await status(key), 200)
  await expectError(server, await server.admin('POST', '/admin/v1/keys/key_unknown/revoke'), 404, 'not_found')
})

test('no request that starts after the answer to a revocation passes, however many are under way', async () => {
  const doomed = await server.makeKey(applicationId)
  let revoked = false
  const late: number[] = []
  const flood = Array.from({ length: 20 }, async () => {
    for (let i = 0; i < 20; i++) {
      const startedAfter = revoked
      const got = await status(doomed.key)
      if (startedAfter) late.push(got)
    }
  })
  await server.mustAdmin('POST', `/admin/v1/keys/${doomed.keyId}/revoke`)
  revoked = true
  await Promise.all(flood)
  assert.ok(late.length > 0, 'nothing was asked after the revocation')
  assert.ok(late.every((one) => one === 401))
})

test('rotating without grace ends the old key at once, with grace both live', async () => {
  const first = await server.makeKey(applicationId, { name: 'rotated' })
  const second = await server.admin('POST', `/admin/v1/keys/${first.keyId}/rotate`, { grace_seconds: 0 })
  assert.equal(second.status, 201)
  assert.equal(second.body.replaces, first.keyId)
  await expectError(server, await account(first.key), 401, 'unauthorized')
  assert.equal(await status(second.body.api_key), 200)

  const third = await server.mustAdmin('POST', `/admin/v1/keys/${second.body.key_id}/rotate`, { grace_seconds: 3600 })
  assert.equal(await status(second.body.api_key), 200)
  assert.equal(await status(third.api_key), 200)
  assert.equal((await listed(third.key_id)).name, 'rotated')
  const left = Date.parse(third.old_key_expires_at) - Date.now()
  assert.ok(left > 3_500_000 && left <= 3_600_000, third.old_key_expires_at)

  const fourth = await server.mustAdmin('POST', `/admin/v1/keys/${third.key_id}/rotate`)
  const day = Date.parse(fourth.old_key_expires_at) - Date.now()
  assert.ok(day > 86_300_000 && day <= 86_400_000, fourth.old_key_expires_at)
})

test('a revoked or expired key cannot be rotated, and a grace never prolongs a life', async () => {
  const revoked = await server.makeKey(applicationId)
  await server.mustAdmin('POST', `/admin/v1/keys/${revoked.keyId}/revoke`)
  await expectError(server, await server.admin('POST', `/admin/v1/keys/${revoked.keyId}/rotate`), 409, 'conflict')
  const spent = await server.makeKey(applicationId)
  await server.mustAdmin('POST', `/admin/v1/keys/${spent.keyId}/rotate`, { grace_seconds: 0 })
  await expectError(server, await server.admin('POST', `/admin/v1/keys/${spent.keyId}/rotate`), 409, 'conflict')

  const expires_at = new Date(Date.now() + 60_000).toISOString()
  const short = await server.makeKey(applicationId, { expires_at })
  const next = await server.mustAdmin('POST', `/admin/v1/keys/${short.keyId}/rotate`, { grace_seconds: 3600 })
  assert.equal(next.old_key_expires_at, expires_at)
  for (const grace_seconds of [-1, 1.5, '60', 31_536_001, null]) {
    const answer = await server.admin('POST', `/admin/v1/keys/${keyId}/rotate`, { grace_seconds })
    await expectError(server, answer, 400, 'invalid_request')
    assert.match(answer.body.message, /^grace_seconds must/)
  }
  await expectError(server, await server.admin('POST', '/admin/v1/keys/key_unknown/rotate'), 404, 'not_found')
})

test('a key ends at its expires_at by itself', async () => {
  const expires_at = new Date(Date.now() + 1000).toISOString()
  const short = await server.makeKey(applicationId, { expires_at })
  assert.equal((await listed(short.keyId)).expires_at, expires_at)
  assert.equal(await status(short.key), 200)
  await until('the key has expired', async () => (await status(short.key)) === 401)
  assert.ok(Date.now() >= Date.parse(expires_at))

  for (const wrong of ['2020-01-01T00:00:00Z', 'tomorrow', '2027-04-31T00:00:00Z', '', 5]) {
    const answer = await server.admin('POST', `/admin/v1/applications/${applicationId}/keys`, { expires_at: wrong })
    await expectError(server, answer, 400, 'invalid_request')
    assert.match(answer.body.message, /^expires_at must/)
  }
  const nobody = await server.admin('POST', '/admin/v1/applications/app_unknown/keys', {})
  await expectError(server, nobody, 404, 'not_found')
})

test('last use is recorded, for consumer and collector keys, and only for keys that were used', async () => {
  const used = await server.makeKey(applicationId)
  const unused = await server.makeKey(applicationId)
  const collector = await server.makeCollector()
  const before = Date.now()
  await account(used.key)
  await server.collector(collector.key, 'POST', '/collector/v1/documents', { documents: [] })
  for (const id of [used.keyId, collector.keyId]) {
    await until('last_used_at is there', async () => (await listed(id)).last_used_at !== null)
    const at = Date.parse((await listed(id)).last_used_at)
    assert.ok(at >= before - 1 && at <= Date.now())
  }
  assert.equal((await listed(unused.keyId)).last_used_at, null)
})

test('collector keys are revoked and rotated like the others', async () => {
  const collector = await server.makeCollector({ name: 'feed reader' })
  assert.match(collector.key, /^tml_[a-z0-9]{40}$/)
  const send = async (one: string) =>
    (await server.collector(one, 'POST', '/collector/v1/documents', { documents: [] })).status
  assert.notEqual(await send(collector.key), 401)
  const next = await server.mustAdmin('POST', `/admin/v1/keys/${collector.keyId}/rotate`, { grace_seconds: 0 })
  assert.match(next.api_key, /^tml_/)
  assert.equal(await send(collector.key), 401)
  assert.notEqual(await send(next.api_key), 401)
  await server.mustAdmin('POST', `/admin/v1/keys/${next.key_id}/revoke`)
  assert.equal(await send(next.api_key), 401)
  const one = await listed(next.key_id)
  assert.equal(one.collector_id, collector.collectorId)
  assert.equal(one.application_id, null)
})

test('a key that a process of an older version makes, during an upgrade, is like the others', async () => {
  const made = await server.makeApplication()
  const collector = await server.makeCollector()
  await operate(
    server,
    `update api_key set owner_kind = null, owner_id = null where key_id in ('${made.keyId}', '${collector.keyId}')`,
  )
  assert.equal(await status(made.key), 200)
  const { keys } = await server.mustAdmin('GET', `/admin/v1/applications/${made.applicationId}/keys`)
  assert.deepEqual(
    keys.map((one: Record<string, unknown>) => [one.key_id, one.application_id, one.collector_id]),
    [[made.keyId, made.applicationId, null]],
  )
  const next = await server.mustAdmin('POST', `/admin/v1/keys/${collector.keyId}/rotate`, { grace_seconds: 0 })
  assert.match(next.api_key, /^tml_/)
  assert.equal((await listed(next.key_id)).collector_id, collector.collectorId)
})

test('admin tokens have a name, a role and an end, are shown once, and are named in the audit log', async () => {
  const expires_at = new Date(Date.now() + 3_600_000).toISOString()
  const made = await server.admin('POST', '/admin/v1/tokens', { name: 'Ada "A" L', role: 'operator', expires_at })
  assert.equal(made.status, 201, made.text)
  const { token_id, admin_token } = made.body
  assert.match(token_id, /^tok_[0-9a-z]{26}$/)
  assert.match(admin_token, /^tma_[a-z0-9]{40}$/)
  assert.equal(made.headers.get('location'), `/admin/v1/tokens/${token_id}`)

  await server.as(admin_token, 'PUT', '/admin/v1/datasets/ada', { name: 'Of Ada' })
  const { audit } = await server.mustAdmin('GET', '/admin/v1/audit?limit=2')
  assert.deepEqual(
    audit.map(({ actor, action, target }: Record<string, unknown>) => [actor, action, target]),
    [
      [`${token_id} "Ada \\"A\\" L"`, 'dataset.put', 'ada'],
      ['admin-api', 'admin_token.create', token_id],
    ],
  )
  assert.deepEqual(audit[1].detail.rights, { role: 'operator' })
  assert.equal(audit[1].detail.expires_at, expires_at)

  const one = () => server.mustAdmin('GET', `/admin/v1/tokens/${token_id}`)
  await until('last_used_at is there', async () => (await one()).last_used_at !== null)
  const { created_at, last_used_at: _, ...rest } = await one()
  assert.ok(Date.parse(created_at) <= Date.now())
  const shown = { token_id, name: 'Ada "A" L', role: 'operator', prefix: admin_token.slice(0, 8) }
  assert.deepEqual(rest, { ...shown, expires_at, revoked_at: null })
  for (const path of ['tokens', 'audit', 'keys']) {
    const list = await server.admin('GET', `/admin/v1/${path}`)
    assert.ok(!list.text.includes(admin_token) && !list.text.includes('hash'), path)
  }
  for (const wrong of [{}, { role: 'viewer' }, { name: 'x', role: 'king' }, { name: 'x', role: 'viewer', of: 1 }]) {
    await expectError(server, await server.admin('POST', '/admin/v1/tokens', wrong), 400, 'invalid_request')
  }
  const past = { name: 'x', role: 'viewer', expires_at: '2020-01-01T00:00:00Z' }
  await expectError(server, await server.admin('POST', '/admin/v1/tokens', past), 400, 'invalid_request')
})

test('a name is of one admin token that works: trimmed, in letters that can be seen, free again when that one is revoked', async () => {
  const make = (name: string) => server.admin('POST', '/admin/v1/tokens', { name, role: 'viewer' })
  const made = await make('  Zoë Lima ')
  assert.equal(made.status, 201, made.text)
  const { token_id } = made.body
  assert.equal((await server.mustAdmin('GET', `/admin/v1/tokens/${token_id}`)).name, 'Zoë Lima')
  for (const twin of [
    'Zoë Lima',
    'zoë LIMA',
    'Zoe\u0308 Lima ',
    'Zoë  Lima',
    'Zoë\u00a0Lima',
    'Zoë L\u200dima',
    token_id,
  ]) {
    const refused = await make(twin)
    await expectError(server, refused, 409, 'conflict')
    assert.match(refused.body.message, new RegExp(`${token_id}.*another name.*revoke`), JSON.stringify(twin))
  }
  for (const odd of ['', '   ', 'a\u202eb', '\u2066a', 'a\u0085b', 'a\nb', 'a\u2028b', '\u200d', 'x'.repeat(201)]) {
    const refused = await make(odd)
    await expectError(server, refused, 400, 'invalid_request')
    assert.equal(refused.body.details[0].path, 'name', JSON.stringify(odd))
  }
  const typed = await server.tidemark(['admin', 'create', ' zoë lima', '--role', 'viewer'])
  assert.equal(typed.code, 1)
  assert.match(typed.stderr, new RegExp(`"Zoë Lima" \\(${token_id}\\)`))
  await server.mustAdmin('POST', `/admin/v1/tokens/${token_id}/revoke`)
  assert.equal((await make('zoë lima')).status, 201)
})

test('an operator makes itself no owner: tokens are none of the keys that it lists, revokes and rotates', async () => {
  const make = (role: string) => server.mustAdmin('POST', '/admin/v1/tokens', { name: role, role })
  const [owner, operator] = [await make('owner'), await make('operator')]
  const as = (method: string, path: string, body?: object) =>
    server.as(operator.admin_token, method, `/admin/v1/${path}`, body)
  assert.equal(await listed(owner.token_id), undefined)
  for (const step of ['revoke', 'rotate']) {
    await expectError(server, await as('POST', `keys/${owner.token_id}/${step}`), 404, 'not_found')
    await expectError(server, await server.admin('POST', `/admin/v1/keys/${owner.token_id}/${step}`), 404, 'not_found')
  }
  await expectError(server, await server.admin('POST', `/admin/v1/tokens/${keyId}/revoke`), 404, 'not_found')
  const token = await as('POST', 'tokens', { name: 'me', role: 'owner' })
  await expectError(server, token, 403, 'role_denied')
  // The setting would erase documents.
  const days = (retain_days: number | null) => as('PUT', 'datasets/short', { name: 'Short', retain_days })
  await expectError(server, await days(1), 403, 'role_denied')
  assert.equal((await days(null)).status, 201)
  await server.mustAdmin('PUT', '/admin/v1/datasets/short', { name: 'Short', retain_days: 7 })
  assert.equal((await days(7)).status, 200)
  await expectError(server, await days(null), 403, 'role_denied')
  assert.equal((await as('PUT', 'datasets/short', { name: 'Shorter' })).status, 200)

  const gone = await server.admin('POST', `/admin/v1/tokens/${owner.token_id}/revoke`)
  assert.notEqual(gone.body.revoked_at, null)
  await expectError(server, await server.as(owner.admin_token, 'GET', '/admin/v1/tokens'), 401, 'unauthorized')
  assert.equal((await server.admin('POST', `/admin/v1/tokens/${owner.token_id}/revoke`)).status, 200)
  await expectError(server, await server.admin('GET', '/admin/v1/tokens/tok_unknown'), 404, 'not_found')
})

test('an admin token whose rights cannot be read opens nothing', async () => {
  const made = await server.mustAdmin('POST', '/admin/v1/tokens', { name: 'odd', role: 'owner' })
  await operate(server, `update api_key set rights = '{"role":"emperor"}' where key_id = '${made.token_id}'`)
  await expectError(server, await server.as(made.admin_token, 'GET', '/admin/v1/datasets'), 500, 'internal')
  await server.mustAdmin('POST', `/admin/v1/tokens/${made.token_id}/revoke`)
})

test('tidemark admin: create prints a token once, list shows it, revoke by its name', async () => {
  const made = await server.tidemark(['admin', 'create', 'Grace', '--role', 'viewer'])
  assert.equal(made.code, 0, made.stderr)
  const [, id, token] = /^admin token (tok_\S+), shown only once: (tma_\S+)\n$/.exec(made.stdout)!
  assert.equal((await server.as(token!, 'GET', '/admin/v1/datasets')).status, 200)
  const row = async () =>
    (await server.tidemark(['admin', 'list'])).stdout.split('\n').find((line) => line.includes(id!))
  assert.match((await row())!, /^tok_\S+ +Grace +viewer +tma_\S+… +valid +never/)
  assert.doesNotMatch((await server.tidemark(['key', 'list'])).stdout, /tok_/)
  const revoked = await server.tidemark(['admin', 'revoke', 'Grace'])
  assert.deepEqual([revoked.code, revoked.stdout], [0, `revoked ${id}\n`])
  await until(
    'the server refuses it',
    async () => (await server.as(token!, 'GET', '/admin/v1/datasets')).status === 401,
  )
  assert.match((await row())!, /revoked/)
  assert.equal((await server.tidemark(['admin', 'revoke', 'Grace'])).code, 1)
  const wrong = await server.tidemark(['admin', 'create', 'Grace', '--role', 'queen'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /viewer, operator, owner/)
})

test('a key revoked by another process, through the command line, is refused within a second', async () => {
  const doomed = await server.makeKey(applicationId)
  assert.equal(await status(doomed.key), 200)
  let answered = 0
  let refusedAt = 0
  // Sends requests all the time, so that the server caches the key.
  const asking = (async () => {
    while (refusedAt === 0) {
      answered++
      if ((await status(doomed.key)) === 401) refusedAt = performance.now()
    }
  })()
  const { code, stdout } = await server.tidemark(['key', 'revoke', doomed.keyId])
  const revokedAt = performance.now()
  assert.equal(code, 0)
  assert.match(stdout, new RegExp(`revoked ${doomed.keyId}`))
  await asking
  assert.ok(answered > 10)
  assert.ok(refusedAt - revokedAt < 1000, `${refusedAt - revokedAt} ms after the command had ended`)
})

test('keys and their ends survive a kill and a restart', async () => {
  const revoked = await server.makeKey(applicationId)
  await server.mustAdmin('POST', `/admin/v1/keys/${revoked.keyId}/revoke`)
  await server.kill9()
  await server.restart()
  assert.equal(await status(key), 200)
  assert.equal(await status(revoked.key), 401)
})
