import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { documentsOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { fakeVector } from './fake-embedding.ts'
import { type SearchWorld, sharedWorld } from './search-world.ts'

const datasets = ['quota-news', 'quota-forum'] as const
const [news, forum] = datasets
const documentOf = documentsOf(news)

/** Daily quotas of searches: one for each operation, taken before the index is searched. */
let world: SearchWorld
const all = [{ datasets: [news, forum] }]
const query = { query: 'gull' }

before(async () => {
  world = await sharedWorld(datasets)
  await world.putIndexed(documentOf('gull', { body: 'A gull.' }))
})

const quotas = {
  '/v1/search': 'search',
  '/v1/search/history': 'search_history',
  '/v1/search/keyword': 'search_keyword',
  '/v1/search/vector': 'search_vector',
  '/v1/search/hybrid': 'search_hybrid',
} as const

const exhausted = async (path: string, key: string): Promise<void> => {
  const before = new Date()
  const answer = await world.raw(query, path, key)
  const after = Date.now()
  await expectError(world.server, answer, 429, 'quota_exceeded')
  const midnight = Date.UTC(before.getUTCFullYear(), before.getUTCMonth(), before.getUTCDate() + 1)
  const [least, most] = [after, before.getTime()].map((ms) => (midnight - ms) / 1000) as [number, number]
  const told = Number(answer.headers.get('retry-after'))
  assert.ok(told >= least - 1 && told <= most + 1, `${least} to ${most}: ${told}`)
}

for (const [path, quota] of Object.entries(quotas)) {
  test(`${path} is counted as ${quota}, and nothing else is`, async () => {
    const key = await world.application(all, { daily_quotas: { [quota]: 2 } })
    for (let i = 0; i < 2; i++) assert.equal((await world.raw(query, path, key)).status, 200)
    await exhausted(path, key)
    for (const other of Object.keys(quotas).filter((one) => one !== path)) {
      assert.equal((await world.raw(query, other, key)).status, 200, other)
    }
  })
}

test('the legacy entry is on the quota of search', async () => {
  const key = await world.application(all, { daily_quotas: { search: 2 } })
  assert.equal((await world.raw(query, '/v1/contents/search', key)).status, 200)
  assert.equal((await world.raw(query, '/v1/search', key)).status, 200)
  await exhausted('/v1/contents/search', key)
  await exhausted('/v1/search', key)
})

test('what is refused takes nothing', async () => {
  const key = await world.application([{ datasets: [news], fields: ['title'] }], { daily_quotas: { search: 1 } })
  for (let i = 0; i < 3; i++) {
    await expectError(world.server, await world.raw({ query: '' }, '/v1/search', key), 400, 'invalid_query')
    await expectError(world.server, await world.raw({ ...query, cursor: 'x' }, '/v1/search', key), 400, 'invalid_query')
    const other = await world.raw({ ...query, datasets: [forum] }, '/v1/search', key)
    await expectError(world.server, other, 403, 'entitlement_denied')
    const vector = await world.raw({ mode: 'vector', query_vector: fakeVector('x') }, '/v1/search', key)
    await expectError(world.server, vector, 403, 'entitlement_denied')
  }
  assert.equal((await world.raw(query, '/v1/search', key)).status, 200)
  for (let i = 0; i < 3; i++) await exhausted('/v1/search', key)
  const { body } = await world.server.consumer(key, 'GET', '/v1/account')
  assert.equal(body.usage.operations['search.default'], 1)
})

test('of many that race for the last units, as many get through as there are', async () => {
  const key = await world.application(all, { daily_quotas: { search: 3 } })
  const paths = ['/v1/search', '/v1/contents/search']
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => world.raw(query, paths[i % 2], key)))
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [...Array(3).fill(200), ...Array(17).fill(429)])
})

test('a quota of 0 lets nothing through; the fields tell what is left', async () => {
  const none = await world.application(all, { daily_quotas: { search: 0 } })
  await exhausted('/v1/search', none)
  const key = await world.application(all, { daily_quotas: { search: 5 } })
  const { headers } = await world.raw(query, '/v1/search', key)
  assert.match(headers.get('ratelimit-policy') ?? '', /"daily";q=5;w=86400/)
  assert.match(headers.get('ratelimit') ?? '', /"daily";r=4/)
})

test('an answer that is degraded or empty has still been a search', async () => {
  const key = await world.application(all, { daily_quotas: { search: 2 } })
  assert.equal((await world.raw({ query: 'nothinglikethis' }, '/v1/search', key)).status, 200)
  assert.equal((await world.raw({ query: '-' }, '/v1/search', key)).status, 200)
  await exhausted('/v1/search', key)
})
