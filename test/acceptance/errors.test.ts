import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { before, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { expectError, parseRaw } from './expect-error.ts'
import { HalfSent } from './half-sent.ts'
import { type Answer, adminToken, type CallOptions, startServer, type TestServer } from './harness.ts'

let server: TestServer
let applicationId: string
let key: string

before(async () => {
  server = await startServer()
  await server.makeDataset('news')
  ;({ applicationId, key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] }))
})

const adminLine = `Authorization: Bearer ${adminToken}\r\n`

/** Sends bytes unchanged, on a connection of their own. */
async function raw(start: string, headers = '', body = ''): Promise<Answer> {
  return parseRaw(await server.raw(`${start}\r\nHost: test\r\n${headers}Connection: close\r\n\r\n${body}`))
}

const post = (path: string, options: CallOptions): Promise<Answer> =>
  server.call('POST', path, { ...options, headers: { authorization: `Bearer ${adminToken}`, ...options.headers } })

test('an unknown path is 404, on every surface', async () => {
  for (const path of [
    '/nothing',
    '/v1/nothing',
    '/admin/v1',
    '/collector/v1/',
    '/v1/account/',
    '/v1//account',
    '/V1/account',
    '//',
  ]) {
    await expectError(server, await raw(`GET ${path} HTTP/1.1`), 404, 'not_found')
  }
})

test('a wrong method is 405 and Allow says which ones there are', async () => {
  const cases = [
    ['DELETE', '/v1/account', 'GET, HEAD'],
    ['OPTIONS', '/v1/account', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['PROPFIND', '/metrics', 'GET, HEAD'],
    ['PUT', `/admin/v1/applications/${applicationId}`, 'DELETE, GET, HEAD, PATCH'],
    ['PATCH', '/admin/v1/datasets/news', 'DELETE, GET, HEAD, PUT'],
  ] as const
  for (const [method, path, allow] of cases) {
    const answer = await server.call(method, path)
    await expectError(server, answer, 405, 'method_not_allowed')
    assert.equal(answer.headers.get('allow'), allow, path)
  }
})

test('so is every method there is, with a body or without, on every surface, and none is 500 at an unknown path', async () => {
  const bodies = ['', 'Content-Type: application/json\r\n', 'Content-Type: text/odd\r\nContent-Length: 1\r\n']
  for (const method of METHODS.filter((one) => !['GET', 'HEAD', 'POST'].includes(one))) {
    for (const headers of bodies) {
      const body = headers.includes('Length') ? 'x' : ''
      for (const [path, allow] of [
        ['/v1/account', 'GET, HEAD'],
        ['/collector/v1/documents', 'POST'],
        ['/healthz', 'GET, HEAD'],
      ]) {
        const target = method === 'CONNECT' ? 'example.com:443' : path
        const answer = await raw(`${method} ${target} HTTP/1.1`, headers, body)
        await expectError(server, answer, 405, 'method_not_allowed')
        assert.equal(answer.headers.get('allow'), method === 'CONNECT' ? '' : allow, `${method} ${path}`)
      }
      if (method === 'CONNECT') continue
      await expectError(server, await raw(`${method} /nothing HTTP/1.1`, headers, body), 404, 'not_found')
    }
  }
})

test('what can be said only once and is said twice is 400: two readers could take it for two things', async () => {
  const headers = [
    `Host: other\r\n${adminLine}`,
    `host: test\r\n${adminLine}`,
    `${adminLine}${adminLine}`,
    `${adminLine}authorization: Bearer garbage\r\n`,
    `${adminLine}Content-Type: application/json\r\nContent-type: text/plain\r\n`,
    `${adminLine}Content-Encoding: gzip\r\nContent-Encoding: identity\r\n`,
    `${adminLine}Idempotency-Key: a\r\nIdempotency-Key: b\r\n`,
  ]
  for (const twice of headers) {
    const answer = await raw('GET /admin/v1/applications HTTP/1.1', twice)
    await expectError(server, answer, 400, 'invalid_request')
    assert.match(answer.body.message, /^the .* header was sent twice/i)
  }
  assert.equal((await raw('GET /admin/v1/applications HTTP/1.1', `${adminLine}Accept: a\r\nAccept: b\r\n`)).status, 200)
})

test('documents that are not there at all, or lines where JSON is due', async () => {
  const { key: collectorKey } = await server.makeCollector()
  const headers = { authorization: `Bearer ${collectorKey}` }
  const nothing = await server.call('POST', '/collector/v1/documents', { headers })
  await expectError(server, nothing, 400, 'invalid_request')
  assert.match(nothing.body.message, /documents.*NDJSON/)
  for (const type of ['application/x-ndjson', 'application/ndjson; charset=utf-8']) {
    const lines = { headers: { ...headers, 'content-type': type }, body: '{"platforms":["rss"]}\n' }
    const leased = await server.call('POST', '/collector/v1/tasks/lease', lines)
    await expectError(server, leased, 415, 'unsupported_media_type')
    assert.match(leased.body.message, /application\/json/)
  }
})

test('a body over the limit is 413, told by its length or found while reading', async () => {
  const big = JSON.stringify({ name: 'x'.repeat(1_100_000) })
  await expectError(server, await server.admin('POST', '/admin/v1/applications', big), 413, 'payload_too_large')
  const chunked = `${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`
  const headers = `${adminLine}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n`
  await expectError(
    server,
    await raw('POST /admin/v1/applications HTTP/1.1', headers, chunked),
    413,
    'payload_too_large',
  )
})

test('a body that is not said to be JSON is 415', async () => {
  for (const type of [
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'application/jsonx',
    ';;;',
  ]) {
    const answer = await post('/admin/v1/applications', { headers: { 'content-type': type }, body: '{"name":"x"}' })
    await expectError(server, answer, 415, 'unsupported_media_type')
  }
  const unsaid = await raw('POST /admin/v1/applications HTTP/1.1', `${adminLine}Content-Length: 2\r\n`, '{}')
  await expectError(server, unsaid, 415, 'unsupported_media_type')
})

test('a body in another charset than UTF-8 is 415, also one of lines', async () => {
  const { key: collector } = await server.makeCollector()
  for (const charset of ['utf-16', 'UTF-16LE', '"iso-8859-1"', 'utf-8; charset=utf-16', '']) {
    for (const type of ['application/json', 'application/x-ndjson']) {
      const answer = await server.call('POST', '/collector/v1/documents', {
        headers: { authorization: `Bearer ${collector}`, 'content-type': `${type}; charset=${charset}` },
        body: Buffer.from('{"documents":[{}]}'),
      })
      await expectError(server, answer, 415, 'unsupported_media_type')
      assert.match(answer.body.message, /UTF-8/)
    }
  }
  for (const parameters of ['; charset=utf-8', ';charset=UTF-8', '; charset="utf8"', '; profile="x"', ';']) {
    const headers = { 'content-type': `application/json${parameters}` }
    const answer = await post('/admin/v1/applications', { headers, body: Buffer.from('{"name":"A"}') })
    assert.equal(answer.status, 201, answer.text)
  }
})

test('a body that was compressed for the transfer alone is 400', async () => {
  const head = `${adminLine}Content-Type: application/json\r\nTransfer-Encoding: `
  for (const coding of ['gzip, chunked', 'deflate,chunked', 'x, chunked', 'chunked, chunked']) {
    const body = '2\r\n{}\r\n0\r\n\r\n'
    const answer = await raw('POST /admin/v1/applications HTTP/1.1', `${head}${coding}\r\n`, body)
    await expectError(server, answer, 400, 'invalid_request')
  }
  const body = 'c\r\n{"name":"A"}\r\n0\r\n\r\n'
  assert.equal((await raw('POST /admin/v1/applications HTTP/1.1', `${head}Chunked\r\n`, body)).status, 201)
})

test('a body that cannot be read as JSON is 400 with a message that says so', async () => {
  const broken = ['{', '{"name":"x"', "{'name':'x'}", '{"name":"x",}', 'nonsense', '\ufeff{"name":"x"}', '{"name":NaN}']
  for (const body of broken) {
    const answer = await server.admin('POST', '/admin/v1/applications', body)
    await expectError(server, answer, 400, 'invalid_request')
    assert.match(answer.body.message, /not valid JSON/)
  }
  const latin = await server.admin('POST', '/admin/v1/applications', Buffer.from('{"name":"caf\xe9"}', 'latin1'))
  await expectError(server, latin, 400, 'invalid_request')
  assert.match(latin.body.message, /UTF-8/)
})

test('no body, or one of another kind, where an object is due', async () => {
  for (const body of ['', 'null', '[]', '"text"', '7', 'true']) {
    const answer = await post('/admin/v1/applications', { headers: { 'content-type': 'application/json' }, body })
    await expectError(server, answer, 400, 'invalid_request')
  }
})

test('wrong types are all named at once, each with what it should be', async () => {
  const answer = await server.admin('POST', '/admin/v1/applications', {
    name: 5,
    policy: { burst: 'many', daily_quotas: { changes: -1, nothing: 1 } },
    entitlements: [{ datasets: [], fields: ['everything'], published_from: '2026-02-30T00:00:00Z' }, {}],
    owner: 'me',
  })
  await expectError(server, answer, 400, 'invalid_request')
  const paths = answer.body.details.map((one: { path: string }) => one.path).sort()
  assert.deepEqual(paths, [
    'entitlements.0.datasets',
    'entitlements.0.fields.0',
    'entitlements.0.published_from',
    'entitlements.1.datasets',
    'name',
    'owner',
    'policy.burst',
    'policy.daily_quotas.changes',
    'policy.daily_quotas.nothing',
  ])
  assert.ok(
    !(await server.mustAdmin('GET', '/admin/v1/applications')).applications.some(
      (one: { name: unknown }) => one.name === 5,
    ),
  )
})

test('a body of a thousand faults is not answered with a book', async () => {
  const body = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${'long'.repeat(200)}${i}`, 1]))
  const answer = await server.admin('POST', '/admin/v1/applications', { name: 'x', ...body })
  await expectError(server, answer, 400, 'invalid_request')
  assert.ok(answer.text.length < 10_000, `${answer.text.length} characters`)
})

/** The processor seconds that the server has used so far. */
async function cpuSeconds(): Promise<number> {
  const { text } = await server.admin('GET', '/metrics')
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)![1])
}

test('twenty thousand wrong values cost the server next to nothing, and the message still says what is wrong', async () => {
  const { key: collectorKey } = await server.makeCollector()
  const lists = Array.from({ length: 20_000 }, (_, i) => [i])
  const cases: [string, string, string, object, string, RegExp][] = [
    [key, 'POST', '/v1/search', { query: 'x', fields: lists }, 'invalid_query', /^fields must/],
    [key, 'POST', '/v1/search', { query: 'x', datasets: lists }, 'invalid_query', /^datasets must/],
    [key, 'POST', '/v1/search', { query: 'x', query_vector: lists }, 'invalid_query', /^query_vector must/],
    [
      collectorKey,
      'POST',
      '/collector/v1/tasks/lease',
      { platforms: ['rss'], resource_kinds: lists },
      'invalid_request',
      /^resource_kinds must/,
    ],
    [
      adminToken,
      'PUT',
      `/admin/v1/applications/${applicationId}/entitlements`,
      { entitlements: [{ datasets: ['news'], fields: lists }] },
      'invalid_request',
      /^entitlements\.0\.fields must/,
    ],
  ]
  for (const [credential, method, path, body, code, message] of cases) {
    const before = await cpuSeconds()
    const answer = await server.as(credential, method, path, body)
    await expectError(server, answer, 400, code)
    assert.match(answer.body.message, message)
    const took = (await cpuSeconds()) - before
    assert.ok(took < 1, `${path} ${message}: ${took} s`)
  }
})

test('a body of more values than anything needs is refused before it is parsed', async () => {
  const { key: collectorKey } = await server.makeCollector()
  const documents = `{"documents":[{"extra_payload":{"a":[${'[],'.repeat(300_000)}[]]}}]}`
  const answer = await server.collector(collectorKey, 'POST', '/collector/v1/documents', documents)
  await expectError(server, answer, 400, 'invalid_request')
  assert.match(answer.body.message, /more than 500000 values: send less at once/)
})

test('unknown and repeated query parameters are 400 and named', async () => {
  const unknown = await server.consumer(key, 'GET', '/v1/account?verbose=1')
  await expectError(server, unknown, 400, 'invalid_request')
  assert.match(unknown.body.message, /verbose/)
  for (const name of ['__proto__', 'constructor', 'toString', 'a[b]', '%F0%9F%8C%8A']) {
    await expectError(server, await server.consumer(key, 'GET', `/v1/account?${name}=1`), 400, 'invalid_request')
  }
  const repeated = await server.admin('GET', '/admin/v1/audit?limit=1&limit=1')
  await expectError(server, repeated, 400, 'invalid_request')
  assert.match(repeated.body.message, /limit must be given only once/)
  for (const limit of ['0', '201', '-1', '1.5', 'ten', '', '1e2x', 'null']) {
    const answer = await server.admin('GET', `/admin/v1/audit?limit=${limit}`)
    await expectError(server, answer, 400, 'invalid_request')
    assert.equal(answer.body.details[0].path, 'limit')
  }
})

test('deep JSON is refused before anything walks it, and a thousand brackets in a text are a text', async () => {
  const deep = `{"name":"x","label_schema":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`
  await expectError(
    server,
    await server.admin('PUT', '/admin/v1/datasets/news/classifications/deep', deep),
    400,
    'invalid_request',
  )
  const patch = `{"policy":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`
  await expectError(
    server,
    await server.admin('PATCH', `/admin/v1/applications/${applicationId}`, patch),
    400,
    'invalid_request',
  )
  const text = { name: 'x', label_schema: { note: '['.repeat(1000), quoted: `"${'{'.repeat(1000)}\\` } }
  const kept = await server.admin('PUT', '/admin/v1/datasets/news/classifications/flat', text)
  assert.equal(kept.status, 201)
  assert.deepEqual(kept.body.label_schema, text.label_schema)
})

test('__proto__ and its kin are names like any other', async () => {
  const unknown = await server.admin('POST', '/admin/v1/applications', '{"name":"x","__proto__":{"policy":{}}}')
  await expectError(server, unknown, 400, 'invalid_request')
  const path = `/admin/v1/applications/${applicationId}`
  const patch = await server.admin('PATCH', path, '{"policy":{"__proto__":{"analysis_enabled":true}}}')
  await expectError(server, patch, 400, 'invalid_request')
  assert.equal((await server.mustAdmin('GET', path)).policy.analysis_enabled, false)

  const stored = '{"__proto__":{"a":1},"constructor":{"prototype":{"b":2}}}'
  await server.mustAdmin(
    'PUT',
    '/admin/v1/datasets/news/classifications/odd',
    `{"name":"Odd","label_schema":${stored}}`,
  )
  const listed = await server.admin('GET', '/admin/v1/datasets/news/classifications')
  assert.ok(listed.text.includes(stored), listed.text)
})

test('a list is not gone on from what is none of its ids', async () => {
  for (const list of ['erasures', 'audit', 'live/tasks', 'analysis/runs']) {
    for (const before of ['x', '', 'doc_00000000000000000000000000', 'ers_']) {
      const answer = await server.admin('GET', `/admin/v1/${list}?before=${before}`)
      await expectError(server, answer, 400, 'invalid_request')
      assert.deepEqual(
        answer.body.details.map(({ path }: { path: string }) => path),
        ['before'],
      )
    }
  }
})

test('NUL: in a path or query 400, in a name 400, on the wire 400', async () => {
  await expectError(server, await raw('GET /admin/v1/applications/%00 HTTP/1.1', adminLine), 400, 'invalid_request')
  await expectError(server, await server.admin('GET', '/admin/v1/audit?before=a%00b'), 400, 'invalid_request')
  await expectError(
    server,
    await server.admin('POST', '/admin/v1/applications', { name: 'a\0b' }),
    400,
    'invalid_request',
  )
  await expectError(
    server,
    await server.admin('PUT', '/admin/v1/datasets/x', { name: 'a', description: '\0' }),
    400,
    'invalid_request',
  )
  await expectError(server, await raw('GET /v1/acc\0ount HTTP/1.1'), 400, 'invalid_request')
  await expectError(server, await raw('GET /v1/account HTTP/1.1', 'X-Odd: a\0b\r\n'), 400, 'invalid_request')
})

test('an escape in the query that is no UTF-8 is 400', async () => {
  for (const value of ['%ff', '%', '%zz', '%ED%A0%80', 'a%2', 'caf%E9']) {
    for (const path of [`/v1/documents/browse?dataset_id=${value}`, `/v1/changes?${value}=1`]) {
      const answer = await server.consumer(key, 'GET', path)
      const code = path.startsWith('/v1/changes') ? 'invalid_changes_query' : 'invalid_document_query'
      await expectError(server, answer, 400, code)
      assert.match(answer.body.message, /percent-escape/)
    }
  }
  await expectError(server, await server.consumer(key, 'GET', '/nothing?a=%ff'), 404, 'not_found')
  const good = await server.consumer(key, 'GET', '/v1/documents/browse?topics=caf%C3%A9,100%25,%F0%9F%8C%8A')
  assert.equal(good.status, 200, good.text)
})

test('NUL and half of a surrogate pair in what is compared: 400 that names the field', async () => {
  const { key: collector } = await server.makeCollector()
  const scope = { dataset_ids: ['news'] }
  const live = { query: 'x', datasets: ['news'], platforms: ['rss'], resource_kind: 'content' }
  const run = { analysis_type: 'knn_graph', embedding_profile_id: 'p', input_scope: scope }
  for (const odd of ['a\0', '\ud800', 'b\udc00']) {
    const consumer = (path: string, body: object) =>
      server.call('POST', path, { body, headers: { authorization: `Bearer ${key}`, 'idempotency-key': 'one' } })
    const asked: [path: string, answer: Promise<Answer>][] = [
      ['datasets.0', consumer('/v1/search', { query: 'x', datasets: [odd] })],
      ['platforms.1', consumer('/v1/search/keyword', { query: 'x', platforms: ['rss', odd] })],
      ['datasets.0', consumer('/v1/live-queries', { ...live, datasets: [odd] })],
      ['platforms.0', consumer('/v1/live-queries', { ...live, platforms: [odd] })],
      ['embedding_profile_id', consumer('/v1/analysis/runs', { ...run, embedding_profile_id: odd })],
      ['input_scope.regions.0', consumer('/v1/analysis/runs', { ...run, input_scope: { ...scope, regions: [odd] } })],
      ['platforms.0', server.collector(collector, 'POST', '/collector/v1/tasks/lease', { platforms: [odd] })],
      ['name', server.admin('POST', '/admin/v1/applications', { name: odd })],
      ['name', server.admin('POST', `/admin/v1/applications/${applicationId}/keys`, { name: odd })],
      ['name', server.admin('POST', '/admin/v1/collectors', { name: odd })],
      ['description', server.admin('PUT', '/admin/v1/datasets/news', { name: 'News', description: odd })],
      [
        'label_schema',
        server.admin('PUT', '/admin/v1/datasets/news/classifications/x', { name: 'x', label_schema: { a: [odd] } }),
      ],
      [
        'label_schema',
        server.admin('PUT', '/admin/v1/datasets/news/classifications/x', { name: 'x', label_schema: { [odd]: 1 } }),
      ],
      [
        'entitlements.0.platforms.0',
        server.admin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, {
          entitlements: [{ datasets: ['news'], platforms: [odd] }],
        }),
      ],
    ]
    for (const [path, answer] of asked) {
      const { status, body } = await answer
      assert.equal(status, 400, `${path} ${JSON.stringify(body)}`)
      assert.deepEqual(
        body.details.map((detail: { path: string }) => detail.path),
        [path],
      )
      assert.match(body.message, /unpaired surrogate/)
    }
  }
})

test('wrong percent-escapes in a path and endless path parameters are 400, in the words of their route, after the credential', async () => {
  await expectError(
    server,
    await raw('GET /v1/nope/%ff HTTP/1.1', `Authorization: Bearer ${key}\r\n`),
    404,
    'not_found',
  )
  for (const path of ['/v1/users/rss/%ff', '/v1/analysis/runs/%ff']) {
    await expectError(server, await raw(`GET ${path} HTTP/1.1`, ''), 401, 'unauthorized')
  }
  for (const path of ['/admin/v1/datasets/%/classifications', '/admin/v1/datasets/%ff%fe/classifications']) {
    const answer = await raw(`GET ${path} HTTP/1.1`, adminLine)
    await expectError(server, answer, 400, 'invalid_request')
    assert.match(answer.body.message, /^the path has a percent-escape that is not UTF-8/)
  }
  const long = 'a'.repeat(3000)
  await expectError(server, await server.admin('GET', `/admin/v1/applications/${long}`), 400, 'invalid_request')
  for (const [path, code] of [
    ['/v1/users/rss/ID', 'invalid_document_query'],
    ['/v1/users/ID/u1/documents', 'invalid_document_query'],
    ['/v1/documents/ID/content', 'invalid_document_query'],
    ['/v1/values/ID', 'invalid_document_query'],
    ['/v1/live-queries/ID', 'invalid_query'],
    ['/v1/analysis/runs/ID', 'invalid_analysis_request'],
    ['/v1/analysis/subscriptions/ID/checkpoint', 'invalid_analysis_subscription'],
  ] as const) {
    for (const id of ['%ff', '%ED%A0%80', '%', 'caf%e9', ...(path.endsWith('rss/ID') ? [] : [long])]) {
      const answer = await raw(`GET ${path.replace('ID', id)} HTTP/1.1`, `Authorization: Bearer ${key}\r\n`)
      await expectError(server, answer, 400, code)
    }
  }
})

test('an empty query parameter is 400, on every route that is read', async () => {
  const { paths } = (await server.call('GET', '/openapi.json')).body
  const { key: analyst } = await server.makeApplication({
    entitlements: [{ datasets: ['news'] }],
    policy: { analysis_enabled: true, live: { enabled: true } },
  })
  const { key: collector } = await server.makeCollector()
  const documentId = (await send(server, collector, [documentOf('one')]))[0]!.document_id!
  const asked: [path: string, name: string][] = []
  for (const [path, { get }] of Object.entries<{ get?: { parameters?: { in: string; name: string }[] } }>(paths)) {
    for (const { in: place, name } of get?.parameters ?? []) if (place === 'query') asked.push([path, name])
  }
  assert.ok(asked.length > 50, `${asked.length} parameters`)
  const required: Record<string, string> = { '/v1/classifications': 'dataset_id=news&' }
  for (const [path, name] of asked) {
    const credential = path.startsWith('/v1/') ? analyst : adminToken
    const query = `${name === 'dataset_id' ? '' : (required[path] ?? '')}${name}=`
    const filled = path
      .replace('{field}', 'tags')
      .replace('{document_id}', documentId)
      .replace(/\{\w+\}/g, 'x')
    const { status, text } = await server.as(credential, 'GET', `${filled}?${query}`)
    // Every value starts with an empty prefix.
    assert.equal(status, name === 'prefix' ? 200 : 400, `${path}?${query}: ${text}`)
  }
})

test('what is no HTTP request at all still gets our error shape', async () => {
  await expectError(
    server,
    await raw('GET /v1/account HTTP/1.1', `X-Big: ${'a'.repeat(140_000)}\r\n`),
    431,
    'headers_too_large',
  )
  for (const start of ['nonsense', 'GET /v1/account HTTP/9.9', 'GET  HTTP/1.1']) {
    await expectError(server, await raw(start), 400, 'invalid_request')
  }
  const smuggled = `${adminLine}Content-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n`
  await expectError(
    server,
    await raw('POST /admin/v1/applications HTTP/1.1', smuggled, '0\r\n\r\n'),
    400,
    'invalid_request',
  )
  const hostless = parseRaw(await server.raw('GET /v1/account HTTP/1.1\r\nConnection: close\r\n\r\n'))
  await expectError(server, hostless, 400, 'invalid_request')
  const expecting = `${adminLine}Expect: the-best\r\nContent-Type: application/json\r\nContent-Length: 2\r\n`
  await expectError(
    server,
    await raw('POST /admin/v1/applications HTTP/1.1', expecting, '{}'),
    417,
    'expectation_failed',
  )
})

test('a request that is answered gets no second answer, whatever is wrong with the rest; one log line is about it', async () => {
  const head = `${adminLine}Content-Type: application/json\r\n`
  const start = 'POST /admin/v1/applications HTTP/1.1\r\nHost: test\r\n'
  const followed = 'GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n'
  for (const [sent, statuses] of [
    [`${start}${head}Transfer-Encoding: identity\r\n\r\n{"name":"A"}`, [400]],
    [`${start}${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${followed}`, [400]],
    [`GET /readyz HTTP/1.1\r\nHost: test\r\n\r\nnonsense\r\n\r\n`, [200]],
  ] as const) {
    // Ends when the connection is closed.
    const answers = await server.raw(sent)
    assert.deepEqual(answers.match(/(?<=HTTP\/1\.1 )\d+/g)?.map(Number), statuses, answers)
  }

  // Half a body, then the end of the stream: the client went away.
  const half = new HalfSent(server, `${start}${head}X-Request-Id: half\r\nContent-Length: 500\r\n\r\n{"name":`)
  half.end()
  await half.closed
  assert.equal(half.received, '')
  await server.call('GET', '/healthz', { headers: { 'x-request-id': 'later' } })
  await until('what came later is logged', async () => server.logs.some(({ reqId }) => reqId === 'later'))
  const [line, ...others] = server.logs.filter(({ reqId }) => reqId === 'half')
  assert.partialDeepStrictEqual(line!, { msg: 'request', operation: 'admin.applications.create', status: 499 })
  assert.deepEqual(others, [])
  assert.ok(server.logs.every(({ reason }) => reason !== 'HPE_INVALID_EOF_STATE'))
})

test('what never became a request has its line in the log, and nothing in it of what was sent', async () => {
  const canary = 'c4nary'
  const answers = [
    [await raw(`${canary} / HTTP/1.1`), { status: 400, reason: 'HPE_INVALID_METHOD' }],
    [await raw(`CONNECT ${canary}:443 HTTP/1.1`), { method: 'CONNECT', status: 405 }],
    [
      await raw('GET / HTTP/1.1', `X-Big: ${canary.repeat(25_000)}\r\n`),
      { status: 431, reason: 'HPE_HEADER_OVERFLOW' },
    ],
    [await raw('GET / HTTP/1.1', `Expect: ${canary}\r\n`), { method: 'GET', status: 417 }],
  ] as const
  for (const [{ status, headers }, expected] of answers) {
    const reqId = headers.get('x-request-id')
    const lines = () => server.logs.filter((line) => line.reqId === reqId)
    await until('it is logged', async () => lines().length > 0)
    assert.equal(lines().length, 1)
    assert.equal(status, expected.status)
    assert.partialDeepStrictEqual(lines()[0]!, { msg: 'request', operation: 'unknown', ip: '127.0.0.1', ...expected })
  }
  assert.ok(!server.stderr.includes(canary))
})

test('nothing of all this was an error of ours', () => {
  assert.deepEqual(
    server.logs.filter((line) => Number(line.level) >= 50),
    [],
  )
})
