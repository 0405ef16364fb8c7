import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { expectError } from './expect-error.ts'
import { type Answer, adminToken, startServer, type TestServer } from './harness.ts'

let server: TestServer

before(async () => {
  server = await startServer()
})

const refused = async (method: string, path: string, body: unknown, named: RegExp) => {
  const answer = await server.admin(method, path, body)
  await expectError(server, answer, 400, 'invalid_request')
  assert.match(answer.body.message, named, `${method} ${path}`)
}

test('datasets: made, changed, put again, listed in order', async () => {
  const made = await server.admin('PUT', '/admin/v1/datasets/news', { name: 'News', description: 'Two\nlines' })
  assert.equal(made.status, 201)
  const { created_at, updated_at, ...rest } = made.body
  assert.deepEqual(rest, { dataset_id: 'news', name: 'News', description: 'Two\nlines', retain_days: null })
  assert.equal(created_at, updated_at)
  const changed = await server.admin('PUT', '/admin/v1/datasets/news', { name: 'News!' })
  assert.equal(changed.status, 200)
  assert.equal(changed.body.description, null)
  const again = await server.admin('PUT', '/admin/v1/datasets/news', { name: 'News!' })
  assert.equal(again.status, 200)
  assert.deepEqual(again.body, changed.body)
  await server.makeDataset('forum.archive:2026_a-b')
  const ids = (await server.mustAdmin('GET', '/admin/v1/datasets')).datasets.map(
    (one: { dataset_id: string }) => one.dataset_id,
  )
  assert.deepEqual(ids, ['forum.archive:2026_a-b', 'news'])
})

test('datasets: bad ids and bodies', async () => {
  for (const id of ['with%20space', 'a,b', '-a', 'é', 'a'.repeat(129)]) {
    await refused('PUT', `/admin/v1/datasets/${id}`, { name: 'x' }, /^dataset_id must/)
  }
  await refused('PUT', '/admin/v1/datasets/a', {}, /^name is required/)
  await refused('PUT', '/admin/v1/datasets/a', { name: '' }, /^name must/)
  await refused('PUT', '/admin/v1/datasets/a', { name: 'x'.repeat(201) }, /^name must/)
  await refused('PUT', '/admin/v1/datasets/a', { name: 'a\u001b[31mb' }, /^name must not contain control characters/)
  await refused('PUT', '/admin/v1/datasets/a', { name: 'x', description: 5 }, /^description must be a string/)
  await refused('PUT', '/admin/v1/datasets/a', { name: 'x', titel: 'y' }, /^unknown field "titel"/)
  await refused('GET', '/admin/v1/datasets?limit=1', undefined, /^unknown field "limit"/)
  const ids = (await server.mustAdmin('GET', '/admin/v1/datasets')).datasets.map(
    (one: { dataset_id: string }) => one.dataset_id,
  )
  assert.ok(!ids.includes('a'), 'nothing is written of what is refused')
})

test('classifications: of a dataset that exists, with any JSON object as label_schema', async () => {
  const label_schema = { type: 'object', properties: { note: { type: 'string' } }, 'x-order': [1, { deep: null }] }
  const path = '/admin/v1/datasets/news/classifications/sports'
  const made = await server.admin('PUT', path, { name: 'Sports', label_schema })
  assert.equal(made.status, 201)
  assert.deepEqual(made.body, {
    dataset_id: 'news',
    code: 'sports',
    name: 'Sports',
    description: null,
    label_schema,
    active: true,
  })
  assert.equal((await server.admin('PUT', path, { name: 'Sports', label_schema, active: false })).status, 200)
  const { classifications } = await server.mustAdmin('GET', '/admin/v1/datasets/news/classifications')
  assert.deepEqual(
    classifications.map((one: { code: string; active: boolean }) => [one.code, one.active]),
    [['sports', false]],
  )

  for (const method of ['PUT', 'GET'] as const) {
    const where = `/admin/v1/datasets/nowhere/classifications${method === 'PUT' ? '/x' : ''}`
    await expectError(
      server,
      await server.admin(method, where, method === 'PUT' ? { name: 'x' } : undefined),
      404,
      'not_found',
    )
  }
  await refused('PUT', '/admin/v1/datasets/news/classifications/a,b', { name: 'x' }, /^code must/)
  await refused('PUT', '/admin/v1/datasets/news/classifications/a%20b', { name: 'x' }, /^code must/)
  await refused('PUT', path, { name: 'x', label_schema: [] }, /^label_schema must be an object/)
  await refused('PUT', path, { name: 'x', active: 'yes' }, /^active must be true or false/)
})

test('embedding profiles: registered, switched, never of other dimensions', async () => {
  const path = '/admin/v1/embedding-profiles/acme-large'
  const profile = { provider: 'http', model: 'large', dimensions: null, status: 'inactive' }
  const made = await server.admin('PUT', path, profile)
  assert.equal(made.status, 201)
  assert.deepEqual(made.body, { id: 'acme-large', ...profile, default: false })
  assert.equal((await server.admin('PUT', path, { ...profile, dimensions: 8, status: 'active' })).body.dimensions, 8)
  assert.equal((await server.admin('PUT', path, profile)).body.dimensions, 8, 'null does not take back what is known')
  await expectError(server, await server.admin('PUT', path, { ...profile, dimensions: 9 }), 409, 'conflict')
  await refused('PUT', path, { ...profile, status: 'on' }, /^status must be one of active, inactive/)
  await refused('PUT', path, { ...profile, dimensions: 0 }, /^dimensions must/)
  await refused('PUT', path, { provider: 'http', model: 'large' }, /dimensions is required.*status is required/)
  const { embedding_profiles } = await server.mustAdmin('GET', '/admin/v1/embedding-profiles')
  assert.ok(embedding_profiles.some((one: { id: string }) => one.id === 'acme-large'))
})

test('applications: made, read, patched, listed', async () => {
  const input = {
    name: 'Desk',
    policy: { requests_per_second: 5, daily_quotas: { search: 10 }, live: { enabled: true, max_concurrent: 2 } },
    entitlements: [{ datasets: ['news'], platforms: ['rss'], published_from: '2026-01-01T00:00:00Z' }],
  }
  const made = await server.admin('POST', '/admin/v1/applications', input)
  assert.equal(made.status, 201)
  const path = `/admin/v1/applications/${made.body.application_id}`
  assert.deepEqual((await server.mustAdmin('GET', path)).policy, { ...input.policy, analysis_enabled: false })

  const patched = await server.admin('PATCH', path, {
    name: 'Desk 2',
    policy: { analysis_enabled: true, daily_quotas: { search: null, changes: 3 }, live: { max_concurrent: 4 } },
  })
  assert.equal(patched.status, 200)
  assert.equal(patched.body.name, 'Desk 2')
  assert.deepEqual(patched.body.policy, {
    requests_per_second: 5,
    daily_quotas: { changes: 3 },
    live: { enabled: true, max_concurrent: 4 },
    analysis_enabled: true,
  })
  assert.deepEqual((await server.mustAdmin('PATCH', path, {})).policy, patched.body.policy)
  assert.ok((await server.admin('GET', '/admin/v1/applications')).text.includes(made.body.application_id))

  await refused('PATCH', path, { policy: { burst: 0 } }, /^policy\.burst must/)
  await refused('PATCH', path, { policy: { speed: 1 } }, /^unknown field "policy\.speed"/)
  await refused('PATCH', path, { policy: { daily_quotas: { search: 1.5 } } }, /^policy\.daily_quotas\.search must/)
  await refused('PATCH', path, { policy: [] }, /^policy must be an object/)
  await refused('PATCH', path, { entitlements: [] }, /^unknown field "entitlements"/)
  assert.deepEqual((await server.mustAdmin('GET', path)).policy, patched.body.policy)
  await expectError(
    server,
    await server.admin('PATCH', '/admin/v1/applications/app_x', { name: 'x' }),
    404,
    'not_found',
  )
  await expectError(server, await server.admin('GET', '/admin/v1/applications/app_x'), 404, 'not_found')
  await expectError(server, await server.admin('GET', '/admin/v1/applications/app_x/keys'), 404, 'not_found')
})

test('applications: two patches at once both hold', async () => {
  const { applicationId } = await server.makeApplication({ policy: { daily_quotas: {} } })
  const path = `/admin/v1/applications/${applicationId}`
  const quotas = ['search', 'search_history', 'search_keyword', 'search_vector', 'search_hybrid', 'changes']
  await Promise.all(
    quotas.map((name, i) => server.mustAdmin('PATCH', path, { policy: { daily_quotas: { [name]: i } } })),
  )
  const { policy } = await server.mustAdmin('GET', path)
  assert.deepEqual(policy.daily_quotas, Object.fromEntries(quotas.map((name, i) => [name, i])))
})

test('entitlements: replaced as a whole, each entry checked', async () => {
  const { applicationId } = await server.makeApplication()
  const path = `/admin/v1/applications/${applicationId}/entitlements`
  const entitlements = [
    { datasets: ['news'], fields: ['title'] },
    { datasets: ['forum', 'news'], languages: ['en', 'de'], regions: ['GB'] },
  ]
  const put = await server.admin('PUT', path, { entitlements })
  assert.equal(put.status, 200)
  const kept = put.body.entitlements.map(({ entitlement_id: _, ...entry }: { entitlement_id: string }) => entry)
  assert.deepEqual(kept, entitlements)
  assert.deepEqual((await server.mustAdmin('PUT', path, { entitlements })).entitlements, put.body.entitlements)

  await refused('PUT', path, {}, /^entitlements is required/)
  await refused('PUT', path, { entitlements: [{}] }, /^entitlements\.0\.datasets is required/)
  await refused('PUT', path, { entitlements: [{ datasets: [] }] }, /^entitlements\.0\.datasets must/)
  const english = { datasets: ['a'], languages: ['english'] }
  await refused('PUT', path, { entitlements: [english] }, /^entitlements\.0\.languages\.0 must be a language code/)
  await refused('PUT', path, { entitlements: [{ datasets: ['a', 'a'] }] }, /^entitlements\.0\.datasets must/)
  await refused(
    'PUT',
    path,
    { entitlements: [{ datasets: ['a'], fields: ['all'] }] },
    /^entitlements\.0\.fields\.0 must be one of/,
  )
  await refused(
    'PUT',
    path,
    { entitlements: [{ datasets: ['a'], published_to: 'soon' }] },
    /published_to must be an RFC 3339/,
  )
  for (const published_to of ['2026-01-31T00:00:00Z', '2026-02-01T00:00:00Z']) {
    const entry = { datasets: ['a'], published_from: '2026-02-01T00:00:00Z', published_to }
    const message = /^entitlements\.0\.published_to must be later than published_from/
    await refused('PUT', path, { entitlements: [entry] }, message)
  }
  await refused(
    'PUT',
    path,
    { entitlements: [{ datasets: ['a'], tags: ['x'] }] },
    /^unknown field "entitlements\.0\.tags"/,
  )
  const there = await server.mustAdmin('GET', `/admin/v1/applications/${applicationId}`)
  assert.deepEqual(there.entitlements, put.body.entitlements)
  await expectError(
    server,
    await server.admin('PUT', '/admin/v1/applications/app_x/entitlements', { entitlements }),
    404,
    'not_found',
  )
})

test('what is replaced whole: made from the state that If-Match names, or 412 and nothing is written', async () => {
  const put = (path: string, body: object, tag: string | null, method = 'PUT') =>
    server.call(method, path, {
      headers: { authorization: `Bearer ${adminToken}`, ...(tag !== null && { 'if-match': tag }) },
      body,
    })
  const tagOf = (answer: Answer): string => {
    assert.match(answer.headers.get('etag') ?? '', /^"[\w-]{22}"$/)
    return answer.headers.get('etag')!
  }
  const { applicationId } = await server.makeApplication()
  const application = `/admin/v1/applications/${applicationId}`
  const profile = { provider: 'http', model: 'a', dimensions: null, status: 'inactive' }
  await server.makeDataset('raced')
  await server.mustAdmin('PUT', '/admin/v1/datasets/raced/classifications/c', { name: 'C' })
  await server.mustAdmin('PUT', '/admin/v1/embedding-profiles/raced', profile)
  const entries = (...datasets: string[]) => ({ entitlements: [{ datasets }] })
  const cases = [
    [application, `${application}/entitlements`, 'PUT', entries('a'), entries('b'), entries('c')],
    [application, application, 'PATCH', { policy: { burst: 1 } }, { policy: { burst: 2 } }, { policy: { burst: 3 } }],
    [application, application, 'PATCH', { name: 'A' }, { name: 'B' }, { name: 'C' }],
    ...[
      ['/admin/v1/datasets/raced', { name: 'A' }, { name: 'B' }, { name: 'C' }],
      ['/admin/v1/datasets/raced/classifications/c', { name: 'A' }, { name: 'B' }, { name: 'C' }],
      ...[['/admin/v1/embedding-profiles/raced', ...['x', 'y', 'z'].map((model) => ({ ...profile, model }))] as const],
    ].map(([path, ...bodies]) => [path, path, 'PUT', ...bodies]),
  ] as [string, string, string, object, object, object][]
  for (const [read, path, method, theirs, ours, after] of cases) {
    const seen = tagOf(await server.admin('GET', read))
    const changed = tagOf(await put(path, theirs, seen, method))
    assert.notEqual(changed, seen, path)
    await expectError(server, await put(path, ours, seen, method), 412, 'precondition_failed')
    const stands = await server.admin('GET', read)
    assert.equal(tagOf(stands), changed, `${path}: nothing was written`)
    assert.equal((await put(path, after, `W/${changed}`, method)).status, 200, 'a proxy may have weakened it')
    assert.equal((await put(path, ours, null, method)).status, 200, 'without the header the last one wins')
  }
  // Several concurrent changes start from one state. Only one succeeds.
  const seen = tagOf(await server.admin('GET', application))
  const answers = await Promise.all(
    ['d', 'e', 'f', 'g'].map((id) => put(`${application}/entitlements`, entries(id), seen)),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412, 412, 412])
  // The answer also has the application's other fields, so a change of those counts too.
  await server.mustAdmin('PATCH', application, { name: 'Renamed' })
  await expectError(
    server,
    await put(`${application}/entitlements`, entries('h'), tagOf(answers.find(({ status }) => status === 200)!)),
    412,
    'precondition_failed',
  )
  await expectError(server, await put('/admin/v1/datasets/raced-not', { name: 'x' }, seen), 412, 'precondition_failed')
  assert.equal((await server.admin('GET', '/admin/v1/datasets/raced-not')).status, 404)
  const malformed = await put(application, { name: 'x' }, 'raced', 'PATCH')
  await expectError(server, malformed, 400, 'invalid_request')
  assert.match(malformed.body.message, /^if-match must/)
  const lines = (await server.mustAdmin('GET', '/admin/v1/audit?limit=50')).audit as { detail: object }[]
  assert.ok(
    lines.every(({ detail }) => !('ifTag' in detail || 'if_tag' in detail)),
    'the log has changes, not their conditions',
  )
})

test('collectors: made with a key, listed without', async () => {
  const made = await server.admin('POST', '/admin/v1/collectors', { name: 'rss', datasets: ['news'] })
  assert.equal(made.status, 201)
  assert.deepEqual(Object.keys(made.body).sort(), ['collector_id', 'collector_key', 'key_id'])
  const list = await server.admin('GET', '/admin/v1/collectors')
  const one = list.body.collectors.find(
    (each: { collector_id: string }) => each.collector_id === made.body.collector_id,
  )
  assert.deepEqual(one.datasets, ['news'])
  assert.ok(!list.text.includes(made.body.collector_key))
  await refused('POST', '/admin/v1/collectors', {}, /^name is required/)
  await refused('POST', '/admin/v1/collectors', { name: 'x', datasets: [] }, /^datasets must/)
  await refused('POST', '/admin/v1/collectors', { name: 'x', datasets: ['a b'] }, /^datasets\.0 must/)
})

test('usage: by day and application, with days that exist', async () => {
  const day = new Date().toISOString().slice(0, 10)
  assert.equal((await server.admin('GET', `/admin/v1/usage?from_day=${day}&to_day=${day}`)).status, 200)
  assert.deepEqual((await server.mustAdmin('GET', '/admin/v1/usage?application_id=app_x')).usage, [])
  await refused('GET', '/admin/v1/usage?from_day=2026-02-30', undefined, /^from_day must be a calendar day/)
  await refused('GET', '/admin/v1/usage?to_day=yesterday', undefined, /^to_day must be a calendar day/)
  await refused('GET', '/admin/v1/usage?day=2026-01-01', undefined, /^unknown field "day"/)
})

test('findings: what doctor says of applications and keys, and what to do', async () => {
  const { applicationId } = await server.makeApplication({
    name: 'Found wanting',
    entitlements: [{ datasets: ['not-there'] }],
  })
  const { findings } = await server.mustAdmin('GET', '/admin/v1/findings')
  const own = findings.filter(({ about }: { about: string }) => about.includes(applicationId))
  assert.deepEqual(own, [
    {
      state: 'warning',
      about: `application "Found wanting" (${applicationId}) is entitled to datasets that do not exist: not-there`,
      advice: 'check the spelling, or create them',
    },
  ])
})

type Detail = Readonly<Record<string, unknown>>

test('the audit log has a line for every change, in order, of whoever made it, and no secret', async () => {
  const from = (await server.mustAdmin('GET', '/admin/v1/audit?limit=1')).audit[0].audit_id
  const secrets: string[] = []
  await server.mustAdmin('PUT', '/admin/v1/datasets/audited', { name: 'A' })
  await server.mustAdmin('PUT', '/admin/v1/datasets/audited', { name: 'A' })
  const labels = { hash: { type: 'string' }, owner: { type: 'string' } }
  await server.mustAdmin('PUT', '/admin/v1/datasets/audited/classifications/c', { name: 'C', label_schema: labels })
  await server.mustAdmin('PUT', '/admin/v1/embedding-profiles/p', {
    provider: 'x',
    model: 'y',
    dimensions: 2,
    status: 'active',
  })
  const application = await server.makeApplication({ name: 'Audited' })
  const path = `/admin/v1/applications/${application.applicationId}`
  await server.mustAdmin('PATCH', path, { policy: { analysis_enabled: true } })
  await server.mustAdmin('PUT', `${path}/entitlements`, { entitlements: [{ datasets: ['audited'] }] })
  const rotated = await server.mustAdmin('POST', `/admin/v1/keys/${application.keyId}/rotate`)
  await server.mustAdmin('POST', `/admin/v1/keys/${application.keyId}/revoke`)
  const collector = await server.makeCollector()
  const byName = await server.tidemark(['key', 'create', 'Newsroom'])
  assert.equal(byName.code, 1)
  assert.match(byName.stderr, /^tidemark: there is no application "Newsroom": tidemark app list shows all$/m)
  const command = await server.tidemark(['key', 'create', application.applicationId, '--name', 'typed'])
  secrets.push(application.key, rotated.api_key, collector.key, /tmc_\S+/.exec(command.stdout)![0])

  const lines: { audit_id: string; action: string; actor: string; target: string; at: string; detail: Detail }[] = []
  let pages = 0
  let before: string | null = null
  do {
    const page = await server.admin('GET', `/admin/v1/audit?limit=5${before === null ? '' : `&before=${before}`}`)
    assert.equal(page.status, 200)
    for (const secret of secrets) {
      assert.ok(!page.text.includes(secret))
      const hash = await crypto.subtle.digest('SHA-256', Buffer.from(secret))
      assert.ok(!page.text.includes(Buffer.from(hash).toString('hex')))
    }
    lines.push(...page.body.audit)
    before = page.body.next_before
    pages++
  } while (before !== null)
  assert.ok(pages > 2)
  assert.equal(new Set(lines.map((line) => line.audit_id)).size, lines.length)

  const since = lines.filter((line) => line.audit_id > from).reverse()
  assert.deepEqual(
    since.map((line) => `${line.action} ${line.actor}`),
    [
      'dataset.put admin-api',
      'classification.put admin-api',
      'profile.put admin-api',
      'application.create admin-api',
      'key.create admin-api',
      'application.update admin-api',
      'entitlements.put admin-api',
      'key.rotate admin-api',
      'key.revoke admin-api',
      'collector.create admin-api',
      'key.create admin-api',
      'key.create command-line',
    ],
  )
  assert.equal(since[0]!.target, 'audited')
  assert.deepEqual(since[1]!.detail.label_schema, labels)
  const ofApplication = { kind: 'consumer', id: application.applicationId, application_id: application.applicationId }
  assert.deepEqual(since[4]!.detail.owner, ofApplication)
  assert.deepEqual((since[7]!.detail.replacement as Detail).owner, ofApplication)
  assert.equal((since[10]!.detail.owner as Detail).collector_id, collector.collectorId)
  assert.ok(since.every((line, i) => i === 0 || since[i - 1]!.at <= line.at))
})
