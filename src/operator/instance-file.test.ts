import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import type { OpenStore } from '../storage/open-store.ts'
import { openSqliteStore } from '../storage/sqlite/open-sqlite-store.ts'
import { checkInstanceFile, InstanceFile, InstanceFileError, type Plan, planInstance } from './instance-file.ts'
import { newToken, Operator } from './operator.ts'

const folder = mkdtempSync(join(tmpdir(), 'tidemark-instance-'))
let open: OpenStore
let operator: Operator

before(async () => {
  open = await openSqliteStore(folder)
  operator = new Operator(open.store.operator)
  await apply({
    datasets: [{ dataset_id: 'news', name: 'News' }],
    embedding_profiles: [{ id: 'acme', provider: 'http', model: 'm', dimensions: 4, status: 'active' }],
    applications: [
      { name: 'Desk', policy: { burst: 5 }, entitlements: [{ datasets: ['news'] }], keys: [{ name: 'laptop' }] },
    ],
    collectors: [{ name: 'rss' }],
    admin_tokens: [{ name: 'deploy', role: 'operator' }],
  })
})
after(async () => {
  await open.close()
  rmSync(folder, { recursive: true })
})

/** The block of docs/instance-file.md that has every field. */
function documentedExample(): Record<string, unknown> {
  const [, block] = /```yaml\n(.*?)```/s.exec(
    readFileSync(new URL('../../docs/instance-file.md', import.meta.url), 'utf8'),
  )!
  return parse(block!)
}

/** The names of fields below a schema, or below an object of values. */
function fieldNames(of: unknown): string[] {
  if (typeof of !== 'object' || of === null) return []
  return Object.entries(of).flatMap(([name, below]) =>
    name === 'properties' ? [...Object.keys(below), ...fieldNames(below)] : fieldNames(below),
  )
}

function keysOf(of: unknown): string[] {
  if (typeof of !== 'object' || of === null) return []
  if (Array.isArray(of)) return of.flatMap(keysOf)
  return Object.entries(of).flatMap(([name, below]) => [name, ...keysOf(below)])
}

const plan = (content: unknown): Promise<Plan> => planInstance(checkInstanceFile(content), operator.read)
const apply = async (content: unknown): Promise<Plan> => {
  const made = await plan(content)
  await operator.commit('test', made.changes)
  return made
}

const half = { dataset_id: 'half', name: 'Half' }
const backwards = { published_from: '2026-02-01T00:00:00Z', published_to: '2026-01-01T00:00:00Z' }
const wrong: [string, unknown, RegExp][] = [
  ['a list', ['a'], /^the file must be an object/],
  ['a text', 'datasets', /^the file must be an object/],
  ['an unknown part', { tables: [] }, /^unknown field "tables"/],
  ['an unknown field', { datasets: [{ ...half, title: 'x' }] }, /^unknown field "datasets\.0\.title"/],
  ['a wrong type', { datasets: [{ dataset_id: 'a', name: 5 }] }, /^datasets\.0\.name must be a string/],
  ['a bad id', { datasets: [{ dataset_id: 'a b', name: 'x' }] }, /^datasets\.0\.dataset_id must/],
  ['a bad policy', { applications: [{ name: 'x', policy: { burst: 0 } }] }, /^applications\.0\.policy\.burst must/],
  ['a bad entitlement', { applications: [{ name: 'x', entitlements: [{}] }] }, /entitlements\.0\.datasets is required/],
  [
    'a time that ends before it begins',
    { applications: [{ name: 'x', entitlements: [{ datasets: ['a'], ...backwards }] }] },
    /^applications\.0\.entitlements\.0\.published_to must be later than published_from/,
  ],
  ['a dataset twice', { datasets: [half, half] }, /dataset "half" is in the file twice/],
  ['an application twice', { applications: [{ name: 'A' }, { name: 'A' }] }, /application "A" is in the file twice/],
  ['a collector twice', { collectors: [{ name: 'A' }, { name: 'A' }] }, /collector "A" is in the file twice/],
  [
    'a key twice',
    { applications: [{ name: 'A', keys: [{ name: 'k' }, { name: 'k' }] }] },
    /key of A "k" is in the file twice/,
  ],
  [
    'an admin token twice',
    { admin_tokens: ['viewer', 'owner'].map((role) => ({ name: 'ci', role })) },
    /admin token "ci" is in the file twice/,
  ],
  [
    'an admin token twice in other letters',
    { admin_tokens: ['ci', ' CI'].map((name) => ({ name, role: 'viewer' })) },
    /admin token "ci" is in the file twice/,
  ],
  [
    'an admin token with a name that reads backwards',
    { admin_tokens: [{ name: 'a\u202eb', role: 'viewer' }] },
    /^admin_tokens\.0\.name must/,
  ],
  ['an admin token without a role', { admin_tokens: [{ name: 'ci' }] }, /admin_tokens.*role/],
  [
    'an admin token of another role',
    { admin_tokens: [{ name: 'deploy', role: 'owner' }] },
    /has the role operator, which cannot change: revoke it first/,
  ],
  [
    'an admin token that has expired already',
    { admin_tokens: [{ name: 'late', role: 'viewer', expires_at: '2020-01-01T00:00:00Z' }] },
    /"late" .* expires in the past/,
  ],
  ['an unknown dataset', { classifications: [{ dataset_id: 'x', code: 'c', name: 'C' }] }, /names dataset x/],
  ['an unknown application', { applications: [{ application_id: 'app_x', name: 'X' }] }, /no application app_x/],
  [
    'a key that has expired already',
    { applications: [{ name: 'A', keys: [{ name: 'k', expires_at: '2020-01-01T00:00:00Z' }] }] },
    /key "k" of A .* expires in the past/,
  ],
]

for (const [name, content, message] of wrong) {
  test(`is refused with the reason: ${name}`, async () => {
    await assert.rejects(
      async () => plan(content),
      (error: unknown) => error instanceof InstanceFileError && message.test(error.message),
    )
  })
}

test('applying the same file again changes nothing, whatever was learnt or created since', async () => {
  const same = {
    datasets: [{ dataset_id: 'news', name: 'News' }],
    // The instance knows the dimensions, although the file does not.
    embedding_profiles: [{ id: 'acme', provider: 'http', model: 'm', dimensions: null, status: 'active' }],
    applications: [{ name: 'Desk', keys: [{ name: 'laptop', expires_at: '2020-01-01T00:00:00Z' }] }],
    collectors: [{ name: 'rss' }],
    admin_tokens: [{ name: ' Deploy', role: 'operator' }],
  }
  assert.deepEqual((await plan(same)).lines, [])
  assert.deepEqual((await plan({})).lines, [])
  assert.deepEqual((await plan(null)).lines, [])
})

test('the documented example has every field, is accepted, and changes nothing the second time', async () => {
  const example = documentedExample()
  // The id of an application that already exists: a comment in the example.
  const missing = new Set(fieldNames(InstanceFile)).difference(new Set([...keysOf(example), 'application_id']))
  assert.deepEqual([...missing], [])
  const elsewhere = mkdtempSync(join(tmpdir(), 'tidemark-example-'))
  const fresh = await openSqliteStore(elsewhere)
  try {
    const instance = new Operator(fresh.store.operator)
    const first = await planInstance(checkInstanceFile(example), instance.read)
    await instance.commit('test', first.changes)
    assert.equal(first.secrets.length, 3)
    assert.deepEqual((await planInstance(checkInstanceFile(example), instance.read)).lines, [])
  } finally {
    await fresh.close()
    rmSync(elsewhere, { recursive: true })
  }
})

test('an application that is created without a key is reported', async () => {
  const { keyless } = await plan({
    applications: [{ name: 'New' }, { name: 'Keyed', keys: [{ name: 'k' }] }, { name: 'Desk' }],
  })
  assert.deepEqual(keyless, ['New'])
})

test('only differences are changed, and described', async () => {
  const { lines, secrets } = await plan({
    datasets: [{ dataset_id: 'news', name: 'News', description: 'Daily' }, half],
    applications: [{ name: 'Desk', policy: { burst: 6 }, entitlements: [], keys: [{ name: 'phone' }] }],
    admin_tokens: [{ name: 'ci', role: 'viewer' }],
  })
  assert.deepEqual(lines, [
    '~ dataset news: description',
    '+ dataset half',
    '~ application Desk: policy',
    '~ entitlements of Desk: 0',
    '+ key "phone" of Desk',
    '+ admin token "ci" (viewer)',
  ])
  assert.deepEqual(
    secrets.map(({ secret }) => secret.slice(0, 4)),
    ['tmc_', 'tma_'],
  )
})

test('an expired admin token is created again if the file gives it a later expiry, and otherwise left', async () => {
  const ended = newToken({ name: 'guest', role: 'viewer', expiresAt: Date.now() - 1 })
  await operator.commit('test', [{ kind: 'key.create', ...ended.key }])
  const guest = (expires_at?: string) => ({ admin_tokens: [{ name: 'guest', role: 'viewer', expires_at }] })
  assert.deepEqual((await plan(guest('2020-01-01T00:00:00Z'))).lines, [])
  assert.deepEqual((await apply(guest('2100-01-01T00:00:00Z'))).lines, ['+ admin token "guest" (viewer)'])
  assert.deepEqual((await plan(guest())).lines, [])
})

test('either all changes are made or none', async () => {
  const { changes } = await plan({ datasets: [half] })
  const impossible = { kind: 'key.revoke', keyId: 'key_unknown' } as const
  await assert.rejects(operator.commit('test', [...changes, impossible]), /no key/)
  assert.deepEqual(
    (await operator.read.datasets()).map((one) => one.datasetId),
    ['news'],
  )
})
