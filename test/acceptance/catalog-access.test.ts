import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { fieldPermissions, namesOpenTo } from '../support/document-fields.ts'
import { browsePath, Catalog, datasetsOf, type Parameters } from './catalog-requests.ts'

const datasets = datasetsOf('access')
const { news, forum } = datasets

const without = (...fields: readonly string[]) => fieldPermissions.filter((field) => !fields.includes(field))
const userPath = '/v1/users/rss/u1'

suite('what an application may list', () => {
  let catalog: Catalog
  before(async () => {
    catalog = await Catalog.start(datasets)
    const rich = {
      author: { external_author_id: 'u1', nickname: 'One' },
      topics: ['t'],
      tags: ['g'],
      facts: [{ kind: 'category', metadata: { label_code: 'c' } }],
      score: 3,
      metrics: { likes: 1 },
    }
    await catalog.send({
      en: { ...rich, language: 'en', region: 'GB', published_at: '2026-03-01T00:00:00Z' },
      de: { ...rich, language: 'de', region: 'DE', published_at: '2026-04-01T00:00:00Z' },
      bare: { ...rich },
      post: { ...rich, dataset_id: forum, source_platform: 'mastodon', language: 'en' },
    })
  })

  test('each filter needs its permission', async () => {
    const cases: [Parameters, string[]][] = [
      [{ topics: 't' }, ['metadata']],
      [{ tags: 'g' }, ['metadata']],
      [{ classification_codes: 'c' }, ['facts']],
      [{ score_min: 0 }, ['metrics']],
      [{ score_max: 9 }, ['metrics']],
    ]
    for (const [parameters, needed] of cases) {
      const lacking = await catalog.keyFor({ datasets: [news], fields: without(...needed) })
      await catalog.denied(parameters, lacking)
      const having = await catalog.keyFor({ datasets: [news], fields: needed })
      assert.deepEqual(await catalog.names(parameters, having), ['bare', 'de', 'en'], JSON.stringify(parameters))
    }
  })

  test('the author filter and the profile need author or metadata', async () => {
    const byAuthor = { source_platforms: 'rss', external_author_id: 'u1' }
    for (const fields of [['author'], ['metadata']]) {
      const key = await catalog.keyFor({ datasets: [news], fields })
      assert.equal((await catalog.names(byAuthor, key)).length, 3)
      assert.equal((await catalog.get(userPath, {}, key)).status, 200)
      assert.equal((await catalog.names({}, key, `${userPath}/documents`)).length, 3)
    }
    const key = await catalog.keyFor({ datasets: [news], fields: without('author', 'metadata') })
    await catalog.denied(byAuthor, key)
    await catalog.denied({}, key, userPath)
    await catalog.denied({}, key, `${userPath}/documents`)
  })

  test('filters without a permission of their own go with any entry', async () => {
    const key = await catalog.keyFor({ datasets: [news], fields: ['title'] })
    const open: Parameters[] = [
      {},
      { content_types: 'x' },
      { status: 'active' },
      { published_from: '2026-01-01T00:00:00Z' },
      { query: 'en', source_platforms: 'rss' },
    ]
    for (const parameters of open) assert.equal((await catalog.get(browsePath, parameters, key)).status, 200)
  })

  test('a document is cut to the fields that are granted; null and absent are different things', async () => {
    for (const field of fieldPermissions) {
      const key = await catalog.keyFor({ datasets: [news], fields: [field] })
      const { documents } = await catalog.list({ include_snapshot: true }, key)
      assert.equal(documents.length, 3)
      for (const { document, snapshot } of documents) {
        assert.deepEqual(Object.keys(document).sort(), namesOpenTo(field).sort(), field)
        assert.equal(snapshot === null, field !== 'metrics')
      }
    }
  })

  test('conditions must be allowed together by one entry; entries are not combined', async () => {
    const key = await catalog.keyFor(
      { datasets: [news], fields: ['metadata'] },
      { datasets: [news], fields: ['metrics'] },
    )
    assert.equal((await catalog.names({ tags: 'g' }, key)).length, 3)
    assert.equal((await catalog.names({ score_min: 0 }, key)).length, 3)
    await catalog.denied({ tags: 'g', score_min: 0 }, key)

    const split = await catalog.keyFor(
      { datasets: [news], fields: ['title'] },
      { datasets: [forum], fields: ['metadata'] },
    )
    await catalog.denied({ dataset_id: news, tags: 'g' }, split)
    assert.deepEqual(await catalog.names({ tags: 'g' }, split), ['post'])
    await catalog.denied({ source_platforms: 'rss', dataset_id: 'none' }, split)
  })

  test('an entry that does not take part adds no field', async () => {
    // With a tag filter only the second entry applies, so the score that the first one opens is not shown.
    const key = await catalog.keyFor(
      { datasets: [news], fields: ['metrics'] },
      { datasets: [news], fields: ['metadata'] },
    )
    const [plain] = (await catalog.list({}, key)).documents
    assert.ok('score' in plain!.document && 'tags' in plain!.document)
    const { documents } = await catalog.list({ tags: 'g', include_snapshot: true }, key)
    assert.ok(documents.every(({ document, snapshot }) => !('score' in document) && snapshot === null))
  })

  test('fields are cut document by document, by the entries that match it', async () => {
    const key = await catalog.keyFor(
      { datasets: [news], languages: ['en'], fields: ['title'] },
      { datasets: [news], languages: ['de'], fields: ['metrics'] },
      { datasets: [news, forum], fields: ['facts'] },
    )
    const { documents } = await catalog.list({}, key)
    const fields = Object.fromEntries(
      documents.map(({ document }) => [
        document.external_id,
        ['title', 'score', 'classifications', 'tags', 'author'].filter((name) => name in document),
      ]),
    )
    assert.deepEqual(fields, {
      post: ['classifications'],
      bare: ['classifications'],
      de: ['score', 'classifications'],
      en: ['title', 'classifications'],
    })
  })

  test('an entry restricted in language, region or publication never matches what lacks the value', async () => {
    const cases: [object, string[]][] = [
      [{ languages: ['en', 'de'] }, ['de', 'en']],
      [{ languages: ['de'] }, ['de']],
      [{ regions: ['GB', 'FR'] }, ['en']],
      [{ published_from: '2026-03-01T00:00:00Z' }, ['de', 'en']],
      [{ published_to: '2026-03-01T00:00:00Z' }, []],
      [{ published_from: '2026-03-01T00:00:00Z', published_to: '2026-04-01T00:00:00Z' }, ['en']],
      [{ languages: ['de'], regions: ['GB'] }, []],
      [{ languages: ['de'], regions: ['DE'], published_to: '2027-01-01T00:00:00Z', platforms: ['rss'] }, ['de']],
    ]
    for (const [limits, wanted] of cases) {
      const key = await catalog.keyFor({ datasets: [news], ...limits })
      assert.deepEqual(await catalog.names({}, key), wanted, JSON.stringify(limits))
      assert.deepEqual(await catalog.names({ tags: 'g' }, key), wanted, JSON.stringify(limits))
      assert.deepEqual(await catalog.names({ query: 'bare', source_platforms: 'rss' }, key), [])
    }
  })

  test('a publication filter outside the entitlement narrows to nothing and is no error', async () => {
    const key = await catalog.keyFor({ datasets: [news], published_to: '2026-03-15T00:00:00Z' })
    assert.deepEqual(await catalog.names({ published_from: '2026-03-15T00:00:00Z' }, key), [])
    assert.deepEqual(await catalog.names({ published_from: '2026-02-01T00:00:00Z' }, key), ['en'])
  })

  test('a named dataset or platform that is not entitled is 403, also beside one that is', async () => {
    const key = await catalog.keyFor({ datasets: [news], platforms: ['rss', 'web'] })
    await catalog.denied({ dataset_id: forum }, key)
    await catalog.denied({ dataset_id: 'unknown' }, key)
    await catalog.denied({ source_platforms: 'mastodon' }, key)
    await catalog.denied({ source_platforms: 'rss,mastodon' }, key)
    await catalog.denied({}, key, '/v1/users/mastodon/u1')
    assert.equal((await catalog.names({ source_platforms: 'rss,web' }, key)).length, 3)
    assert.equal((await catalog.names({}, key)).length, 3)
    await catalog.denied({}, await catalog.keyFor())
  })

  test('the range is applied where nothing is named', async () => {
    const key = await catalog.keyFor({ datasets: [forum] }, { datasets: [news], platforms: ['web'] })
    assert.deepEqual(await catalog.names({}, key), ['post'])
    assert.deepEqual(await catalog.names({ tags: 'g', score_min: 0, topics: 't' }, key), ['post'])
  })

  test('an exact lookup finds nothing outside the entitlements', async () => {
    const [id] = (await catalog.list({ query: 'post', source_platforms: 'mastodon' })).documents
    const key = await catalog.keyFor({ datasets: [news] })
    assert.deepEqual(await catalog.names({ query: id!.document.id }, key), [])
    assert.deepEqual(await catalog.names({ query: id!.document.id }), ['post'])
  })

  test('many entries', async () => {
    const languages = ['xx', 'yy', 'zz', 'de', 'fr', 'is', 'nl', 'sv', 'da', 'no', 'fi', 'et']
    const entries = languages.map((language, i) => ({
      datasets: [news],
      languages: [language],
      ...(i % 2 === 0 ? { regions: ['DE', `R${i}`] } : { platforms: ['rss', `p${i}`] }),
      ...(i % 3 === 0 ? { published_from: '2026-01-01T00:00:00Z' } : {}),
    }))
    assert.deepEqual(await catalog.names({}, await catalog.keyFor(...entries)), ['de'])
  })
})
