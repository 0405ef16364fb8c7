import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, sendOne } from './content.ts'
import { expectError } from './expect-error.ts'
import { type Answer, adminToken, noVectors, startServer, type TestServer } from './harness.ts'
import { operate } from './store-surgery.ts'

/**
 * Every operation that makes something: the address of the new object, and that each `Idempotency-Key` makes it once.
 */
interface Maker {
  readonly method?: 'PUT' | 'DELETE'
  readonly credential: () => string
  readonly status: 201 | 202
  /** The path and body of a request. Every call requests another object. */
  readonly ask: () => Promise<{ readonly path: string; readonly body?: object; readonly other?: object }>
  readonly idOf: (body: Answer['body']) => string
  /** All existing objects. */
  readonly list?: () => Promise<readonly unknown[]>
  readonly showsSecret?: true
  /** Names must be unique. */
  readonly hasNameAlone?: true
  readonly needsKey?: true
}

let server: TestServer
let reader: string
let applicationId: string
let collector: string
let operations: { readonly operationId: string; readonly method: string; readonly statuses: readonly string[] }[]

const named = () => randomUUID()
const listed = async (path: string, what: string) => (await server.mustAdmin('GET', `/admin/v1/${path}`))[what]
const own = async (path: string, what: string) =>
  (await server.consumer(reader, 'GET', `/v1/${path}?limit=100`)).body[what]
const admin = () => adminToken
/** The policy does not allow this type, so the run ends as soon as a worker sees it. */
const analysed = { analysis_type: 'feature_rollup', input_scope: { dataset_ids: ['news'] } }

const makers: Readonly<Record<string, Maker>> = {
  'admin.datasets.put': {
    method: 'PUT',
    credential: admin,
    status: 201,
    ask: async () => ({ path: `/admin/v1/datasets/${named()}`, body: { name: 'x' } }),
    idOf: (body) => body.dataset_id,
  },
  'admin.classifications.put': {
    method: 'PUT',
    credential: admin,
    status: 201,
    ask: async () => ({ path: `/admin/v1/datasets/news/classifications/${named()}%2F%3F`, body: { name: 'x' } }),
    idOf: (body) => body.code,
  },
  'admin.profiles.put': {
    method: 'PUT',
    credential: admin,
    status: 201,
    ask: async () => ({
      path: `/admin/v1/embedding-profiles/${named()}`,
      body: { provider: 'http', model: 'm', dimensions: null, status: 'inactive' },
    }),
    idOf: (body) => body.id,
  },
  'admin.datasets.delete': {
    method: 'DELETE',
    credential: admin,
    status: 202,
    ask: async () => {
      const id = named()
      await server.makeDataset(id)
      return { path: `/admin/v1/datasets/${id}?force=true` }
    },
    idOf: (body) => body.erasure_id,
  },
  'admin.documents.erase': {
    method: 'DELETE',
    credential: admin,
    status: 202,
    ask: async () => {
      const { document_id } = await sendOne(server, collector, documentOf(named()))
      return { path: `/admin/v1/documents/${document_id}` }
    },
    idOf: (body) => body.erasure_id,
  },
  'admin.applications.create': {
    credential: admin,
    status: 201,
    ask: async () => ({ path: '/admin/v1/applications', body: { name: named() }, other: { name: named() } }),
    idOf: (body) => body.application_id,
    list: () => listed('applications', 'applications'),
  },
  'admin.keys.create': {
    credential: admin,
    status: 201,
    ask: async () => ({
      path: `/admin/v1/applications/${applicationId}/keys`,
      body: { name: named() },
      other: { name: named() },
    }),
    idOf: (body) => body.key_id,
    list: () => listed('keys', 'keys'),
    showsSecret: true,
  },
  'admin.keys.rotate': {
    credential: admin,
    status: 201,
    ask: async () => {
      const { keyId } = await server.makeKey(applicationId)
      return { path: `/admin/v1/keys/${keyId}/rotate`, body: { grace_seconds: 60 }, other: { grace_seconds: 61 } }
    },
    idOf: (body) => body.key_id,
    list: () => listed('keys', 'keys'),
    showsSecret: true,
  },
  'admin.collectors.create': {
    credential: admin,
    status: 201,
    ask: async () => ({ path: '/admin/v1/collectors', body: { name: named() }, other: { name: named() } }),
    idOf: (body) => body.collector_id,
    list: () => listed('collectors', 'collectors'),
    showsSecret: true,
  },
  'admin.tokens.create': {
    credential: admin,
    status: 201,
    ask: async () => {
      const name = named()
      return { path: '/admin/v1/tokens', body: { name, role: 'viewer' }, other: { name, role: 'owner' } }
    },
    idOf: (body) => body.token_id,
    list: () => listed('tokens', 'tokens'),
    showsSecret: true,
    hasNameAlone: true,
  },
  'admin.erasures.create': {
    credential: admin,
    status: 202,
    ask: async () => ({
      path: '/admin/v1/erasures',
      body: { document_ids: [named()] },
      other: { author: { dataset_id: 'news', source_platform: 'rss', external_author_id: named() } },
    }),
    idOf: (body) => body.erasure_id,
    list: () => listed('erasures?limit=200', 'erasures'),
  },
  'analysis.runs.create': {
    credential: () => reader,
    status: 202,
    ask: async () => ({
      path: '/v1/analysis/runs',
      body: { ...analysed, retention_days: 3 },
      other: { ...analysed, retention_days: 4 },
    }),
    idOf: (body) => body.run_id,
    list: () => own('analysis/runs', 'runs'),
  },
  'analysis.subscriptions.create': {
    credential: () => reader,
    status: 201,
    ask: async () => ({
      path: '/v1/analysis/subscriptions',
      body: { name: named(), ...analysed, execution_mode: 'on_change' },
      other: { name: named(), ...analysed, execution_mode: 'on_change' },
    }),
    idOf: (body) => body.subscription_id,
    list: () => own('analysis/subscriptions', 'subscriptions'),
  },
  'live.create': {
    credential: () => reader,
    status: 202,
    ask: async () => {
      const rest = { datasets: ['news'], platforms: ['rss'], resource_kind: 'content' }
      await server.collector(collector, 'POST', '/collector/v1/tasks/lease', { platforms: ['rss'] })
      return { path: '/v1/live-queries', body: { query: named(), ...rest }, other: { query: named(), ...rest } }
    },
    idOf: (body) => body.id,
    needsKey: true,
  },
}

before(async () => {
  server = await startServer({ env: noVectors })
  await server.makeDataset('news')
  const policy = { analysis_enabled: true, live: { enabled: true, max_concurrent: 1000 } }
  const made = await server.makeApplication({ policy, entitlements: [{ datasets: ['news'] }] })
  reader = made.key
  applicationId = made.applicationId
  collector = (await server.makeCollector()).key
  const { paths } = (await server.call('GET', '/openapi.json')).body
  operations = Object.entries<Record<string, { operationId: string; responses: Record<string, { content?: object }> }>>(
    paths,
  ).flatMap(([, methods]) =>
    Object.entries(methods).map(([method, { operationId, responses }]) => ({
      operationId,
      method,
      // A response that only accepts a request has no body.
      statuses: Object.keys(responses).filter((status) => responses[status]!.content !== undefined),
    })),
  )
})

const post = (path: string, body: unknown, credential: string, key: string | null) =>
  server.call('POST', path, {
    headers: { authorization: `Bearer ${credential}`, ...(key === null ? {} : { 'idempotency-key': key }) },
    body,
  })

test('every operation that answers 201 or 202 is tried here, and each POST among them for its key', () => {
  const making = operations.filter(({ statuses }) => statuses.includes('201') || statuses.includes('202'))
  assert.deepEqual(making.map(({ operationId }) => operationId).sort(), Object.keys(makers).sort())
  for (const { operationId, method } of making) {
    assert.equal(method.toUpperCase(), makers[operationId]!.method ?? 'POST', operationId)
  }
})

/** The advice for a lost secret, for operations that make one. */
const lost: Readonly<Record<string, RegExp>> = {
  'admin.keys.create': /revoke that key and make another with a new Idempotency-Key/,
  'admin.keys.rotate': /rotate that key/,
  'admin.collectors.create': /rotate its key \(GET \/admin\/v1\/keys names it\)/,
  'admin.tokens.create': /revoke that token and make another with a new Idempotency-Key/,
}

for (const [operation, maker] of Object.entries(makers)) {
  const { method = 'POST', credential, status, ask, idOf, list, showsSecret, hasNameAlone, needsKey } = maker

  test(`${operation}: Location is the address of what was made`, async () => {
    const { path, body } = await ask()
    const headers = { authorization: `Bearer ${credential()}`, ...(needsKey ? { 'idempotency-key': named() } : {}) }
    const made = await server.call(method, path, { headers, ...(body === undefined ? {} : { body }) })
    assert.equal(made.status, status, made.text)
    const read = await server.as(credential(), 'GET', made.headers.get('location') ?? 'no Location')
    assert.equal(read.status, 200, read.text)
    assert.equal(idOf({ ...read.body, key_id: read.body.key_id ?? made.body.key_id }), idOf(made.body))
  })

  if (method !== 'POST') continue

  test(`${operation}: one is made for a key, also by five at once; another request with it is 422`, async () => {
    const { path, body, other } = await ask()
    const count = list === undefined ? 0 : (await list()).length
    const key = `key of "${operation}" ${named()}`
    const answers = await Promise.all(Array.from({ length: 5 }, () => post(path, body, credential(), key)))
    answers.push(await post(path, Object.fromEntries(Object.entries(body!).reverse()), credential(), key))
    const made = answers.filter((answer) => answer.status === status)
    assert.equal(made.length, showsSecret ? 1 : 6, answers.map(({ text }) => text).join('\n'))
    const id = idOf(made[0]!.body)
    for (const answer of answers) {
      if (answer.status === status) {
        assert.equal(idOf(answer.body), id)
        assert.equal(answer.headers.get('location'), made[0]!.headers.get('location'))
      } else {
        await expectError(server, answer, 409, 'conflict')
        assert.deepEqual(answer.body.details, [{ path: 'made', message: id }])
        assert.match(answer.body.message, lost[operation]!, operation)
      }
    }
    if (list !== undefined) assert.equal((await list()).length, count + 1)
    await expectError(server, await post(path, other, credential(), key), 422, 'idempotency_key_reused')
    if (list === undefined) return
    assert.equal((await list()).length, count + 1)
    const another = await post(path, hasNameAlone ? (await ask()).body : body, credential(), null)
    assert.equal(another.status, status, another.text)
    assert.notEqual(idOf(another.body), id)
  })

  test(`${operation}: a key that cannot be one is 400`, async () => {
    const { path, body } = await ask()
    for (const key of ['', 'x'.repeat(256), 'caf\u00e9']) {
      const answer = await post(path, body, credential(), key)
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.message, /idempotency-key/i)
    }
  })
}

test('a key is its caller’s own, and one for all routes', async () => {
  const key = named()
  const run = await post('/v1/analysis/runs', analysed, reader, key)
  assert.equal(run.status, 202, run.text)
  const other = await server.makeApplication({
    policy: { analysis_enabled: true },
    entitlements: [{ datasets: ['news'] }],
  })
  const theirs = await post('/v1/analysis/runs', analysed, other.key, key)
  assert.equal(theirs.status, 202, theirs.text)
  assert.notEqual(theirs.body.run_id, run.body.run_id)
  const second = await server.makeKey(applicationId)
  assert.equal((await post('/v1/analysis/runs', analysed, second.key, key)).body.run_id, run.body.run_id)

  for (const operation of ['analysis.subscriptions.create', 'live.create']) {
    const { path, body: another } = await makers[operation]!.ask()
    await expectError(server, await post(path, another, reader, key), 422, 'idempotency_key_reused')
  }
  // Each admin token is a separate caller.
  const application = { name: named() }
  const { admin_token } = await server.mustAdmin('POST', '/admin/v1/tokens', { name: 'Ada', role: 'operator' })
  const ids = new Set<string>()
  for (const token of [adminToken, admin_token, admin_token]) {
    ids.add((await post('/admin/v1/applications', application, token, key)).body.application_id)
  }
  assert.equal(ids.size, 2)
})

test('what is asked for again is no further use of the application', async () => {
  const one = await server.makeApplication({
    policy: { analysis_enabled: true, live: { enabled: true } },
    entitlements: [{ datasets: ['news'] }],
  })
  const runs = [named(), named(), named()]
  const { path: livePath, body: liveBody } = await makers['live.create']!.ask()
  const live = named()
  for (const key of [runs[0]!, runs[0]!, runs[0]!, runs[1]!, runs[1]!, runs[2]!]) {
    assert.equal((await post('/v1/analysis/runs', analysed, one.key, key)).status, 202)
    assert.equal((await post(livePath, liveBody, one.key, live)).status, 202)
  }
  await until('all of it is counted', async () => {
    const { operations } = (await server.consumer(one.key, 'GET', '/v1/account')).body.usage
    assert.ok(!(operations['analysis.runs.create'] > 3) && !(operations['live.create'] > 1), JSON.stringify(operations))
    return operations['analysis.runs.create'] === 3 && operations['live.create'] === 1
  })
})

test('a request that is refused keeps no key: it can be sent again when what was in the way is gone', async () => {
  const one = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  const key = named()
  await expectError(server, await post('/v1/analysis/runs', analysed, one.key, key), 403, 'analysis_forbidden')
  await server.mustAdmin('PATCH', `/admin/v1/applications/${one.applicationId}`, { policy: { analysis_enabled: true } })
  assert.equal((await post('/v1/analysis/runs', analysed, one.key, key)).status, 202)
  // A request that the store refuses keeps no key either.
  const gone = named()
  const author = { dataset_id: gone, source_platform: 'rss', external_author_id: 'a' }
  await expectError(server, await post('/admin/v1/erasures', { author }, adminToken, key), 404, 'not_found')
  await server.makeDataset(gone)
  assert.equal((await post('/admin/v1/erasures', { author }, adminToken, key)).status, 202)
})

test('what is deleted since is not made again; a day later a key is as new', async () => {
  const key = named()
  const body = { name: named() }
  const make = () => post('/admin/v1/applications', body, adminToken, key)
  const { application_id } = (await make()).body
  await server.mustAdmin('PATCH', `/admin/v1/applications/${application_id}`, { policy: { burst: 7 } })
  assert.equal((await make()).body.policy.burst, 7, 'it is told as it is now')
  await server.admin('DELETE', `/admin/v1/applications/${application_id}`)
  const answer = await make()
  await expectError(server, answer, 409, 'conflict')
  assert.match(answer.body.message, new RegExp(`${application_id}.* no longer exists`))
  await operate(server, `update live_key set created_at = created_at - 86400001 where idempotency_key = '${key}'`)
  const again = await make()
  assert.equal(again.status, 201, again.text)
  assert.notEqual(again.body.application_id, application_id)
  assert.equal((await make()).body.application_id, again.body.application_id)
})

test('an erasure that is asked for again has hidden its documents by its answer, as at first', async () => {
  const name = named()
  const document = documentOf(named(), { author: { external_author_id: name, nickname: 'N' } })
  const { document_id } = await sendOne(server, collector, document)
  const author = { dataset_id: 'news', source_platform: 'rss', external_author_id: name }
  const key = named()
  for (let i = 0; i < 2; i++) {
    const erased = await post('/admin/v1/erasures', { author }, adminToken, key)
    assert.deepEqual([erased.status, erased.body.documents], [202, 1], erased.text)
    assert.equal((await server.consumer(reader, 'GET', `/v1/documents/${document_id}`)).status, 404)
  }
})
