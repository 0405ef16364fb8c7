import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { until } from '../support/until.ts'
import { expectError } from './expect-error.ts'
import { adminToken, sharedServer, type TestServer } from './harness.ts'

/**
 * Every route of the description with every wrong credential. The test decides the surface of a path a second time, by
 * the rules of the interface, not by the server's own description. A route that fits no rule fails the test.
 */
const publicPaths = ['/openapi.json', '/healthz', '/readyz']
/** Pages are not in the description. */
const pagePaths = [
  '/',
  '/docs',
  '/sign-in',
  '/account',
  '/assets/styles/reference.css',
  '/assets/packages/preact/dist/preact.mjs',
]

/** The methods and paths that only an owner may use. A viewer may read the rest, and an operator may write it. */
const forOwners = [
  'POST /admin/v1/tokens',
  'POST /admin/v1/tokens/{token_id}/revoke',
  'POST /admin/v1/erasures',
  'DELETE /admin/v1/erasures/{erasure_id}/tombstones',
  'DELETE /admin/v1/datasets/{dataset_id}',
]
/** Requests with a body that change nothing. */
const forViewers = ['POST /admin/v1/entitlements/count']
const roles = ['viewer', 'operator', 'owner'] as const
type Role = (typeof roles)[number]

function roleFor(method: string, path: string): Role {
  if (forOwners.includes(`${method} ${path}`)) return 'owner'
  if (forViewers.includes(`${method} ${path}`)) return 'viewer'
  return method === 'GET' || method === 'HEAD' ? 'viewer' : 'operator'
}

type Surface = 'consumer' | 'collector' | 'admin' | 'public'

function surfaceOf(path: string): Surface {
  if (publicPaths.includes(path)) return 'public'
  if (path === '/metrics' || path.startsWith('/admin/v1/')) return 'admin'
  if (path.startsWith('/collector/v1/')) return 'collector'
  if (path === '/mcp' || path.startsWith('/v1/')) return 'consumer'
  throw new Error(`${path} belongs to no surface: name it here`)
}

interface Credentials {
  readonly right: string
  /** Keys of the right kind that are no longer valid. */
  readonly spent: Readonly<Record<string, string>>
}

let server: TestServer
let routes: { readonly method: string; readonly path: string; readonly template: string; readonly surface: Surface }[]
/** Admin tokens by their role. */
const tokens = {} as Record<Role, { readonly id: string; readonly token: string }>
let credentials: Record<Exclude<Surface, 'public'>, Credentials>

/** A revoked key and an expired one, made by a rotation without a grace period. */
async function spentKeys(make: () => Promise<{ key: string; keyId: string }>): Promise<Record<string, string>> {
  const revoked = await make()
  const expired = await make()
  await server.mustAdmin('POST', `/admin/v1/keys/${revoked.keyId}/revoke`)
  await server.mustAdmin('POST', `/admin/v1/keys/${expired.keyId}/rotate`, { grace_seconds: 0 })
  return { revoked: revoked.key, expired: expired.key }
}

async function makeToken(role: Role, name: string, fields: object = {}): Promise<{ id: string; token: string }> {
  const made = await server.mustAdmin('POST', '/admin/v1/tokens', { name, role, ...fields })
  return { id: made.token_id, token: made.admin_token }
}

before(async () => {
  server = await sharedServer()
  await server.makeDataset('news')
  const application = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  const collector = await server.makeCollector()
  for (const role of roles) tokens[role] = await makeToken(role, `the ${role}`)
  const revoked = await makeToken('owner', 'gone')
  await server.mustAdmin('POST', `/admin/v1/tokens/${revoked.id}/revoke`)
  const expired = await makeToken('owner', 'of yesterday', { expires_at: new Date(Date.now() + 1000).toISOString() })
  await until('the token has expired', async () => {
    return (await server.as(expired.token, 'GET', '/admin/v1/datasets')).status === 401
  })
  credentials = {
    consumer: { right: application.key, spent: await spentKeys(() => server.makeKey(application.applicationId)) },
    collector: { right: collector.key, spent: await spentKeys(() => server.makeCollector()) },
    admin: {
      right: adminToken,
      spent: {
        'another token': `${adminToken}x`,
        'half the token': adminToken.slice(0, 20),
        revoked: revoked.token,
        expired: expired.token,
      },
    },
  }
  const { paths } = (await server.call('GET', '/openapi.json')).body
  routes = Object.entries<Record<string, unknown>>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).flatMap((method) => {
      const surface = surfaceOf(path)
      const one = { path: path.replaceAll(/\{[^}]+\}/g, 'x'), template: path, surface }
      const upper = method.toUpperCase()
      return upper === 'GET'
        ? [
            { ...one, method: 'GET' },
            { ...one, method: 'HEAD' },
          ]
        : [{ ...one, method: upper }]
    }),
  )
})

let refusals = 0
after(() => console.log(`${routes.length} routes, ${refusals} refusals looked at`))

/** An answer to HEAD has no body to check. */
async function expectRefusal(method: string, path: string, authorization: string | null, why: string): Promise<void> {
  refusals++
  const answer = await server.call(method, path, authorization === null ? {} : { headers: { authorization } })
  assert.equal(answer.status, 401, `${method} ${path} with ${why}: ${answer.status} ${answer.text}`)
  if (method === 'HEAD') assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
  else await expectError(server, answer, 401, 'unauthorized')
}

test('the description has routes of every surface, and says the same of each as the interface', async () => {
  const { paths } = (await server.call('GET', '/openapi.json')).body
  const met = new Set<string>()
  for (const [path, methods] of Object.entries<Record<string, { security: unknown }>>(paths)) {
    for (const [method, { security }] of Object.entries(methods)) {
      const surface = surfaceOf(path)
      met.add(surface)
      assert.deepEqual(security, surface === 'public' ? [] : [{ [surface]: [] }], `${method} ${path}`)
    }
  }
  assert.deepEqual([...met].sort(), ['admin', 'collector', 'consumer', 'public'])
  assert.ok(routes.length > 30, `only ${routes.length} routes were read`)
})

test('every route of the admin surface says its role, as decided here, and no other says one', async () => {
  const { paths } = (await server.call('GET', '/openapi.json')).body
  for (const [path, methods] of Object.entries<Record<string, { 'x-role'?: string }>>(paths)) {
    for (const [method, { 'x-role': role }] of Object.entries(methods)) {
      const expected = surfaceOf(path) === 'admin' ? roleFor(method.toUpperCase(), path) : undefined
      assert.equal(role, expected, `${method} ${path}`)
    }
  }
})

test('an admin token does what its role may, and is 403 role_denied on every other route', async () => {
  const seen = new Set<string>()
  for (const { method, path, template, surface } of routes) {
    if (surface !== 'admin') continue
    const needed = roleFor(method, template)
    for (const role of roles) {
      const { token } = tokens[role]
      const headers = { authorization: `Bearer ${token}` }
      const answer = await server.call(
        method,
        path,
        method === 'GET' || method === 'HEAD' ? { headers } : { headers, body: {} },
      )
      const what = `${method} ${template} as ${role}: ${answer.status} ${answer.text}`
      const may = roles.indexOf(role) >= roles.indexOf(needed)
      seen.add(`${role} ${may}`)
      if (may) {
        assert.ok(answer.status !== 401 && answer.status !== 403 && answer.status < 500, what)
      } else {
        assert.equal(answer.status, 403, what)
        if (method === 'HEAD') continue
        await expectError(server, answer, 403, 'role_denied')
        assert.equal(answer.body.message, `this needs the role ${needed}, and this admin token has the role ${role}`)
      }
    }
  }
  assert.deepEqual([...seen].sort(), ['operator false', 'operator true', 'owner true', 'viewer false', 'viewer true'])
})

test('whoever asks who they are is told their name and role, and nothing of others', async () => {
  const asked = async (token: string) =>
    (await server.call('GET', '/admin/v1/self', { headers: { authorization: `Bearer ${token}` } })).body
  const { id, token } = tokens.viewer
  assert.deepEqual(await asked(token), { token_id: id, name: 'the viewer', role: 'viewer' })
  assert.deepEqual(await asked(adminToken), { token_id: null, name: null, role: 'owner' })
})

test('without a credential, or with garbage in its place, every closed route is 401', async () => {
  for (const { method, path, surface } of routes) {
    if (surface === 'public') continue
    const { right } = credentials[surface]
    await expectRefusal(method, path, null, 'no credential')
    await expectRefusal(method, path, 'Bearer', 'an empty bearer')
    await expectRefusal(method, path, 'Bearer garbage', 'garbage')
    await expectRefusal(method, path, right, 'no scheme')
    await expectRefusal(method, path, `Basic ${Buffer.from(`x:${right}`).toString('base64')}`, 'the wrong scheme')
    await expectRefusal(method, path, `Token ${right}`, 'an unknown scheme')
    await expectRefusal(method, path, `Bearer ${right} ${right}`, 'two keys')
    await expectRefusal(method, path, `Bearer ${right.slice(0, -1)}`, 'a key cut short')
    await expectRefusal(method, path, `Bearer ${right.toUpperCase()}`, 'a key in capitals')
  }
})

test('a key of another surface is 401 everywhere', async () => {
  for (const { method, path, surface } of routes) {
    if (surface === 'public') continue
    for (const [kind, { right }] of Object.entries(credentials)) {
      if (kind !== surface) await expectRefusal(method, path, `Bearer ${right}`, `a ${kind} credential`)
    }
  }
})

test('a revoked key and an expired one are 401 everywhere', async () => {
  for (const { method, path, surface } of routes) {
    if (surface === 'public') continue
    for (const [why, key] of Object.entries(credentials[surface].spent)) {
      await expectRefusal(method, path, `Bearer ${key}`, why)
    }
  }
})

test('the right credential is never 401, whatever else is wrong with the request', async () => {
  for (const { method, path, surface } of routes) {
    if (surface === 'public') continue
    for (const scheme of ['Bearer', 'bearer']) {
      const headers = { authorization: `${scheme} ${credentials[surface].right}` }
      const answer = await server.call(
        method,
        path,
        method === 'GET' || method === 'HEAD' ? { headers } : { headers, body: {} },
      )
      assert.notEqual(answer.status, 401, `${method} ${path}: ${answer.text}`)
      assert.ok(answer.status < 500, `${method} ${path}: ${answer.status} ${answer.text}`)
    }
  }
})

test('public routes and pages ask for nothing and are not put off by a wrong credential', async () => {
  for (const path of [...publicPaths, ...pagePaths]) {
    for (const authorization of [null, 'Bearer garbage', `Bearer ${credentials.consumer.spent.revoked}`]) {
      const answer = await server.call('GET', path, authorization === null ? {} : { headers: { authorization } })
      assert.equal(answer.status, 200, `${path}: ${answer.text}`)
    }
  }
})

test('an unknown path is 404 and a wrong method 405 with any credential or none', async () => {
  for (const authorization of [undefined, 'Bearer garbage', `Bearer ${adminToken}`]) {
    const headers = authorization === undefined ? {} : { authorization }
    await expectError(server, await server.call('GET', '/admin/v1/nothing', { headers }), 404, 'not_found')
    await expectError(server, await server.call('DELETE', '/v1/account', { headers }), 405, 'method_not_allowed')
  }
})
