import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { browsePath, Catalog, datasetsOf, type Parameters } from './catalog-requests.ts'
import { expectError } from './expect-error.ts'

const datasets = datasetsOf('parameters')
const { news, forum } = datasets

const userPath = '/v1/users/rss/u1'

suite('bad input of the catalog is 400 with the parameter named', () => {
  let catalog: Catalog
  before(async () => {
    catalog = await Catalog.start(datasets)
  })

  /** The raw query string, for requests that a well-behaved client never sends. */
  async function refusedQuery(query: string, at: string, path = browsePath): Promise<void> {
    const answer = await catalog.server.consumer(catalog.key, 'GET', `${path}?${query}`)
    await expectError(catalog.server, answer, 400, 'invalid_document_query')
    assert.ok(answer.body.message.includes(at), answer.text)
  }

  test('unknown parameters', async () => {
    for (const name of [
      'page',
      'offset',
      'sort',
      'q',
      'languages',
      'platform',
      'Tags',
      'tag',
      'limit[]',
      '__proto__',
    ]) {
      await refusedQuery(`${name}=1`, name)
    }
    await refusedQuery('tags=a&surprise=1', 'surprise')
    await refusedQuery('=1', '')
  })

  test('repeated parameters', async () => {
    for (const [name, value] of [
      ['tags', 'a'],
      ['topics', 'a'],
      ['limit', '5'],
      ['dataset_id', news],
      ['source_platforms', 'rss'],
      ['score_min', '1'],
      ['created_from', '2026-01-01T00:00:00Z'],
      ['cursor', 'x'],
      ['query', 'x'],
      ['status', 'active'],
      ['include_snapshot', 'true'],
    ] as const) {
      await refusedQuery(`${name}=${value}&${name}=${value}`, name)
    }
    await refusedQuery('limit=5&limit=6', 'limit', `${userPath}/documents`)
    await refusedQuery(`dataset_id=${news}&dataset_id=${forum}`, 'dataset_id', userPath)
  })

  test('an empty element of a list, and more values than 200', async () => {
    const lists = ['source_platforms', 'topics', 'tags', 'classification_codes', 'content_types']
    for (const name of lists) {
      for (const value of ['', ',', 'a,', ',a', 'a,,b']) await catalog.refused({ [name]: value }, name)
      const many = (count: number) => Array.from({ length: count }, (_, i) => `v${i}`).join(',')
      assert.equal((await catalog.get(browsePath, { [name]: many(200) })).status, 200)
      await catalog.refused({ [name]: many(201) }, name)
      await catalog.refused({ [name]: many(300) }, name)
      await catalog.refused({ [name]: 'x'.repeat(16_385) }, name)
    }
    // The limit counts bytes of all lists together. A Chinese character has three bytes.
    const half = '海'.repeat(2730)
    assert.equal((await catalog.get(browsePath, { topics: half, tags: half })).status, 200)
    await catalog.refused({ topics: half, tags: `${half},tide` }, 'tags')
    await catalog.refused({ topics: half, tags: `${half},tide` }, 'tags', { path: `${userPath}/documents` })
  })

  test('what is bounded is documented', async () => {
    const { paths } = (await catalog.server.call('GET', '/openapi.json')).body
    for (const [path, names] of [
      [browsePath, ['source_platforms', 'topics', 'tags', 'classification_codes', 'content_types']],
      ['/v1/users/{platform}/{external_author_id}/documents', ['topics', 'tags']],
      ['/v1/changes', ['event_type', 'dataset_id', 'source_platform']],
      ['/v1/export', ['dataset_id', 'source_platform']],
    ] as const) {
      for (const name of names) {
        const parameters: { name: string; description: string }[] = paths[path].get.parameters
        const { description } = parameters.find((one) => one.name === name)!
        assert.match(description, /at most 200 values.*16384 bytes/, `${path} ${name}`)
      }
    }
  })

  test('times that are none', async () => {
    const times = ['created_from', 'created_to', 'published_from', 'published_to']
    const bad = [
      '',
      'now',
      '2026-01-01',
      '2026-01-01T00:00:00',
      '2026-02-30T00:00:00Z',
      '1767225600000',
      '2026-13-01T00:00:00Z',
    ]
    for (const name of times) {
      for (const value of bad) {
        await catalog.refused({ [name]: value }, name)
        await catalog.refused({ [name]: value }, name, { path: userPath })
        await catalog.refused({ [name]: value }, name, { path: `${userPath}/documents` })
      }
    }
  })

  test('scores that are no whole numbers, or the wrong way round', async () => {
    for (const name of ['score_min', 'score_max']) {
      for (const value of [
        '',
        '1.5',
        'high',
        'NaN',
        'Infinity',
        '-Infinity',
        '1e400',
        '1e17',
        '-',
        '1,5',
        'null',
        'true',
        '[]',
      ]) {
        await catalog.refused({ [name]: value }, name)
      }
    }
    await catalog.refused({ score_min: 2, score_max: 1 }, 'score_min')
    await catalog.refused({ score_min: -1, score_max: -2 }, 'score_min')
  })

  test('an author without a platform, or with two', async () => {
    await catalog.refused({ external_author_id: 'u1' }, 'external_author_id')
    await catalog.refused({ external_author_id: 'u1', source_platforms: 'rss,mastodon' }, 'external_author_id')
    await catalog.refused({ external_author_id: '', source_platforms: 'rss' }, 'external_author_id')
    assert.equal((await catalog.get(browsePath, { external_author_id: 'u1', source_platforms: 'rss,rss' })).status, 200)
  })

  test('status, include_snapshot, query and dataset', async () => {
    for (const status of ['', 'deleted', 'ACTIVE', 'active,unavailable']) await catalog.refused({ status }, 'status')
    for (const value of ['', 'yes', '1', 'TRUE', 'null']) {
      await catalog.refused({ include_snapshot: value }, 'include_snapshot')
    }
    await catalog.refused({ query: '' }, 'query')
    await catalog.refused({ query: 'x'.repeat(4097) }, 'query')
    await catalog.refused({ query: '海'.repeat(4097) }, 'query')
    assert.equal((await catalog.get(browsePath, { query: '海'.repeat(4096) })).status, 200)
    await catalog.refused({ dataset_id: '' }, 'dataset_id')
  })

  test('several faults are told together', async () => {
    const answer = await catalog.get(browsePath, { limit: 0, status: 'x', surprise: 1, created_from: 'soon' })
    await expectError(catalog.server, answer, 400, 'invalid_document_query')
    const paths = answer.body.details.map(({ path }: { path: string }) => path).sort()
    assert.deepEqual(paths, ['created_from', 'limit', 'status', 'surprise'])
  })

  test('a NUL and wrongly escaped text are refused, not stored questions', async () => {
    await refusedQuery('tags=a%00b', 'NUL')
    const broken = await catalog.server.consumer(catalog.key, 'GET', `${browsePath}?tags=%ff%fe`)
    assert.ok(broken.status === 400 || broken.status === 200, broken.text)
    assert.deepEqual(broken.status === 200 ? broken.body.documents : [], [])
  })

  test('a user takes neither what is fixed by its path nor, for the profile, paging', async () => {
    const both: Parameters[] = [{ source_platforms: 'rss' }, { external_author_id: 'u1' }, { platform: 'rss' }]
    for (const parameters of both) {
      const [name] = Object.keys(parameters)
      await catalog.refused(parameters, name!, { path: `${userPath}/documents` })
      await catalog.refused(parameters, name!, { path: userPath })
    }
    for (const name of ['cursor', 'query', 'limit', 'tags', 'topics', 'status', 'include_snapshot', 'score_min']) {
      await catalog.refused({ [name]: '1' }, name, { path: userPath })
    }
  })

  test('a bad request is 400 before it is 403', async () => {
    const none = await catalog.keyFor()
    await catalog.refused({ limit: 0 }, 'limit', { key: none })
    await catalog.refused({ external_author_id: 'u1' }, 'external_author_id', { key: none })
    await catalog.refused({ score_min: 2, score_max: 1 }, 'score_min', { key: none })
    await catalog.refused({ cursor: 'x' }, 'cursor', { key: none })
  })

  test('no key, another key, another method', async () => {
    for (const path of [browsePath, userPath, `${userPath}/documents`, `/v1/classifications?dataset_id=${news}`]) {
      await expectError(catalog.server, await catalog.server.call('GET', path), 401, 'unauthorized')
      const wrong = await catalog.server.collector(catalog.collector, 'GET', path)
      await expectError(catalog.server, wrong, 401, 'unauthorized')
      await expectError(catalog.server, await catalog.server.admin('GET', path), 401, 'unauthorized')
      const posted = await catalog.server.consumer(catalog.key, 'POST', path, {})
      await expectError(catalog.server, posted, 405, 'method_not_allowed')
      assert.match(posted.headers.get('allow') ?? '', /GET/)
    }
  })

  test('too many requests a second are 429 with Retry-After', async () => {
    const { key } = await catalog.server.makeApplication({
      entitlements: [{ datasets: [news] }],
      policy: { requests_per_second: 0.01, burst: 1 },
    })
    assert.equal((await catalog.get(browsePath, {}, key)).status, 200)
    await expectError(catalog.server, await catalog.get(browsePath, {}, key), 429, 'rate_limit_exceeded')
  })
})
