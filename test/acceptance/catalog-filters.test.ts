import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { emptyValues } from '../support/document-fields.ts'
import { Catalog, datasetsOf } from './catalog-requests.ts'
import type { Sent } from './content.ts'

const datasets = datasetsOf('filters')
const { news, forum } = datasets

const category = (code: unknown, level = 'document', kind = 'category'): Sent => ({
  kind,
  level,
  metadata: { label_code: code },
})

suite('what a listing matches', () => {
  let catalog: Catalog
  before(async () => {
    catalog = await Catalog.start(datasets)
  })

  test('an empty store and conditions that nothing meets are 200 with an empty list', async () => {
    const { documents, next_cursor, ...window } = await catalog.list()
    assert.deepEqual(documents, [])
    assert.equal(next_cursor, undefined)
    assert.equal(typeof window.created_from, 'string')
    assert.deepEqual((await catalog.list({ tags: 'nobody-has-this' })).documents, [])
  })

  test('a catalog item carries the document as it was collected, and nothing of its text or extra payload', async () => {
    const [id] = await catalog.send({
      whole: {
        url: 'https://a.example/whole',
        content_type: 'whole-type',
        language: 'en-GB',
        region: 'GB',
        published_at: '2026-01-02T03:04:05+01:00',
        observed_at: '2026-02-03T04:05:06.7Z',
        author: { external_author_id: 'w1', nickname: 'W', follower_count: 3, extra: { badge: 'gold' } },
        topics: ['wt'],
        tags: ['wg'],
        score: -7,
        metrics: { likes: 1 },
        facts: [category('wc')],
        extra_payload: { secret: 'never shown' },
        body: 'the body is not part of a catalog',
      },
    })
    const before = Date.now()
    const answer = await catalog.get('/v1/documents/browse', { content_types: 'whole-type' })
    const [item] = answer.body.documents
    const { current_version_id, created_at, author, ...rest } = item.document
    const { author: _, ...empty } = emptyValues('name')
    assert.deepEqual(rest, {
      ...empty,
      id,
      dataset_id: news,
      source_platform: 'rss',
      external_id: 'whole',
      url: 'https://a.example/whole',
      title: 'Title of whole',
      content_type: 'whole-type',
      language: 'en',
      region: 'GB',
      status: 'active',
      published_at: '2026-01-02T02:04:05.000Z',
      observed_at: '2026-02-03T04:05:06.700Z',
      topics: ['wt'],
      tags: ['wg'],
      classifications: ['wc'],
      score: -7,
    })
    assert.match(current_version_id, /^ver_/)
    assert.ok(Date.parse(created_at) <= before && Date.parse(created_at) > before - 60_000, created_at)
    assert.deepEqual(author, {
      external_author_id: 'w1',
      nickname: 'W',
      avatar_url: null,
      home_page: null,
      biography: null,
      follower_count: 3,
      following_count: null,
      verified: null,
      badge: 'gold',
    })
    assert.ok(!('snapshot' in item))
    assert.doesNotMatch(answer.text, /never shown|extra_payload|not part of a catalog/)
  })

  test('values of one parameter are OR-ed, parameters are AND-ed', async () => {
    await catalog.send({
      or1: { tags: ['or-a', 'or-b'], topics: ['or-t'], content_type: 'or-x' },
      or2: { tags: ['or-b'], topics: ['or-t'], content_type: 'or-y' },
      or3: { tags: ['or-c'], topics: ['or-u'], content_type: 'or-x' },
    })
    assert.deepEqual(await catalog.names({ tags: 'or-a,or-b' }), ['or2', 'or1'])
    assert.deepEqual(await catalog.names({ tags: 'or-a,or-b,or-c' }), ['or3', 'or2', 'or1'])
    assert.deepEqual(await catalog.names({ tags: 'or-a,or-b', content_types: 'or-x' }), ['or1'])
    assert.deepEqual(await catalog.names({ tags: 'or-a,or-c', topics: 'or-t,or-u' }), ['or3', 'or1'])
    assert.deepEqual(await catalog.names({ tags: 'or-c', topics: 'or-t' }), [])
    assert.deepEqual(await catalog.names({ content_types: 'or-x,or-y', tags: 'or-b' }), ['or2', 'or1'])
  })

  test('a value given twice counts once', async () => {
    assert.deepEqual(await catalog.names({ tags: 'or-a,or-a,or-b' }), ['or2', 'or1'])
  })

  test('topic, tag, author and code match exactly: no case, no spaces, no signs, no accents are overlooked', async () => {
    await catalog.send({
      ex1: {
        tags: ['Exact', '#exact', 'exact ', 'éxact'],
        topics: ['Ex'],
        author: { external_author_id: 'Ex' },
        facts: [category('Ex')],
      },
      ex2: { tags: ['exact'], topics: ['ex'], author: { external_author_id: 'ex' }, facts: [category('ex')] },
    })
    assert.deepEqual(await catalog.names({ tags: 'exact' }), ['ex2'])
    for (const tag of ['Exact', '#exact', 'exact ', 'éxact'])
      assert.deepEqual(await catalog.names({ tags: tag }), ['ex1'])
    for (const tag of ['EXACT', ' exact', 'exac', 'exact*', '%'])
      assert.deepEqual(await catalog.names({ tags: tag }), [])
    assert.deepEqual(await catalog.names({ topics: 'ex' }), ['ex2'])
    assert.deepEqual(await catalog.names({ topics: 'Ex' }), ['ex1'])
    assert.deepEqual(await catalog.names({ classification_codes: 'Ex' }), ['ex1'])
    assert.deepEqual(await catalog.names({ classification_codes: 'EX' }), [])
    assert.deepEqual(await catalog.names({ source_platforms: 'rss', external_author_id: 'ex' }), ['ex2'])
    assert.deepEqual(await catalog.names({ source_platforms: 'rss', external_author_id: 'EX' }), [])
  })

  test('tags and topics and codes are different things, and so are platforms of an author', async () => {
    await catalog.send({
      kind1: { tags: ['kind'], author: { external_author_id: 'kind' } },
      kind2: { topics: ['kind'], source_platform: 'other', author: { external_author_id: 'kind' } },
      kind3: { facts: [category('kind')] },
    })
    assert.deepEqual(await catalog.names({ tags: 'kind' }), ['kind1'])
    assert.deepEqual(await catalog.names({ topics: 'kind' }), ['kind2'])
    assert.deepEqual(await catalog.names({ classification_codes: 'kind' }), ['kind3'])
    assert.deepEqual(await catalog.names({ source_platforms: 'rss', external_author_id: 'kind' }), ['kind1'])
    assert.deepEqual(await catalog.names({ source_platforms: 'other', external_author_id: 'kind' }), ['kind2'])
  })

  test('a tag with a comma cannot be asked for: its parts are other tags', async () => {
    await catalog.send({ comma: { tags: ['left,right'] } })
    assert.deepEqual(await catalog.names({ tags: 'left,right' }), [])
  })

  test('values of every script and with signs of the query string are found', async () => {
    const odd = ['a&b=c', '100%', 'a+b', 'שלום', '東京タワー', "o'clock", '"quoted"', '👍🏽', 'a\\b', 'naïve;x']
    await catalog.send({ odd: { tags: odd } })
    for (const tag of odd) assert.deepEqual(await catalog.names({ tags: tag }), ['odd'], tag)
  })

  test('platforms and datasets', async () => {
    await catalog.send({
      pd1: { tags: ['pd'], source_platform: 'pa' },
      pd2: { tags: ['pd'], source_platform: 'pb', dataset_id: forum },
      pd3: { tags: ['pd'], source_platform: 'PA' },
    })
    assert.deepEqual(await catalog.names({ tags: 'pd', source_platforms: 'pa' }), ['pd1'])
    assert.deepEqual(await catalog.names({ tags: 'pd', source_platforms: 'pa,pb' }), ['pd2', 'pd1'])
    assert.deepEqual(await catalog.names({ tags: 'pd', dataset_id: forum }), ['pd2'])
    assert.deepEqual(await catalog.names({ source_platforms: 'pa', dataset_id: forum }), [])
    assert.deepEqual(await catalog.names({ tags: 'pd' }), ['pd3', 'pd2', 'pd1'])
  })

  test('the score interval is closed, takes negatives, and never matches what has no score', async () => {
    await catalog.send({
      sc1: { tags: ['sc'], score: -10 },
      sc2: { tags: ['sc'], score: -1 },
      sc3: { tags: ['sc'], score: 0 },
      sc4: { tags: ['sc'], score: 10 },
      sc5: { tags: ['sc'] },
      sc6: { tags: ['sc'], score: Number.MAX_SAFE_INTEGER },
    })
    const scores = (parameters: Record<string, number>) => catalog.names({ tags: 'sc', ...parameters })
    assert.deepEqual(await scores({ score_min: -10, score_max: -1 }), ['sc2', 'sc1'])
    assert.deepEqual(await scores({ score_min: 0, score_max: 0 }), ['sc3'])
    assert.deepEqual(await scores({ score_min: 10 }), ['sc6', 'sc4'])
    assert.deepEqual(await scores({ score_max: -2 }), ['sc1'])
    assert.deepEqual(await scores({ score_min: 1, score_max: 9 }), [])
    assert.deepEqual(await scores({ score_min: Number.MIN_SAFE_INTEGER }), ['sc6', 'sc4', 'sc3', 'sc2', 'sc1'])
    assert.deepEqual(await catalog.names({ score_min: Number.MAX_SAFE_INTEGER }), ['sc6'])
  })

  test('the score is the one the platform has now', async () => {
    await catalog.send({ now: { tags: ['now'], score: 5 } })
    await catalog.send({ now: { tags: ['now'], score: 50 } })
    assert.deepEqual(await catalog.names({ tags: 'now', score_max: 10 }), [])
    assert.deepEqual(await catalog.names({ tags: 'now', score_min: 50 }), ['now'])
    await catalog.send({ now: { tags: ['now'], score: null } })
    assert.deepEqual(await catalog.names({ tags: 'now', score_min: 0 }), [])
  })

  test('publication time is half-open to the millisecond and never matches what has none', async () => {
    await catalog.send({
      pub1: { tags: ['pub'], published_at: '2020-05-01T00:00:00.000Z' },
      pub2: { tags: ['pub'], published_at: '2020-05-01T23:59:59.999Z' },
      pub3: { tags: ['pub'], published_at: '2020-05-02T00:00:00.000Z' },
      pub4: { tags: ['pub'] },
      pub5: { tags: ['pub'], published_at: '1931-01-01T00:00:00Z' },
    })
    const times = (from?: string, to?: string) =>
      catalog.names({
        tags: 'pub',
        ...(from === undefined ? {} : { published_from: from }),
        ...(to === undefined ? {} : { published_to: to }),
      })
    assert.deepEqual(await times('2020-05-01T00:00:00Z', '2020-05-02T00:00:00Z'), ['pub2', 'pub1'])
    assert.deepEqual(await times('2020-05-01T02:00:00+02:00', '2020-05-01T00:00:00.001Z'), ['pub1'])
    assert.deepEqual(await times('2020-05-01T00:00:00.001Z'), ['pub3', 'pub2'])
    assert.deepEqual(await times(undefined, '2020-05-01T00:00:00Z'), ['pub5'])
    assert.deepEqual(await times(undefined, '1931-01-01T00:00:00Z'), [])
    assert.deepEqual(await times('1000-01-01T00:00:00Z'), ['pub5', 'pub3', 'pub2', 'pub1'])
  })

  test('content without author, topic, tag or type never matches that filter', async () => {
    await catalog.send({
      bare: { source_platform: 'bare' },
      nick: { source_platform: 'bare', author: { nickname: 'N' } },
    })
    const within = { source_platforms: 'bare' }
    assert.deepEqual(await catalog.names(within), ['nick', 'bare'])
    for (const filter of ['external_author_id', 'topics', 'tags', 'content_types', 'classification_codes']) {
      for (const value of ['null', 'undefined', '0', 'N', '[]']) {
        assert.deepEqual(await catalog.names({ ...within, [filter]: value }), [], `${filter}=${value}`)
      }
    }
  })

  test('status: what the collector last said; both without the filter', async () => {
    await catalog.send({ st1: { tags: ['st'], status: 'unavailable' }, st2: { tags: ['st'] } })
    assert.deepEqual(await catalog.names({ tags: 'st' }), ['st2', 'st1'])
    assert.deepEqual(await catalog.names({ tags: 'st', status: 'active' }), ['st2'])
    assert.deepEqual(await catalog.names({ tags: 'st', status: 'unavailable' }), ['st1'])
    await catalog.send({ st1: { tags: ['st'], status: 'active' } })
    assert.deepEqual(await catalog.names({ tags: 'st', status: 'unavailable' }), [])
  })

  test('a code matches only as metadata.label_code of a category fact', async () => {
    await catalog.send({
      fa1: { facts: [category('fa')] },
      fa2: { facts: [category('fa', 'document', 'sentiment')] },
      fa3: { facts: [{ kind: 'category', metadata: { code: 'fa' } }] },
      fa4: { facts: [{ kind: 'category', metadata: { label_code: ['fa'] } }] },
      fa5: { facts: [{ kind: 'category', metadata: { nested: { label_code: 'fa' } } }] },
      fa6: { facts: [category('other'), category('fa', 'version')] },
      fa7: { facts: [{ kind: 'category' }] },
    })
    assert.deepEqual(await catalog.names({ classification_codes: 'fa' }), ['fa6', 'fa1'])
  })

  test('a fact about a version ends with it; a fact about the document stays; facts sent again count anew', async () => {
    await catalog.send({ ve1: { facts: [category('ve', 'version')] }, ve2: { facts: [category('ve', 'document')] } })
    assert.deepEqual(await catalog.names({ classification_codes: 've' }), ['ve2', 've1'])
    await catalog.send({ ve1: { body: 'a new text' }, ve2: { body: 'a new text' } })
    assert.deepEqual(await catalog.names({ classification_codes: 've' }), ['ve2'])
    const [item] = (await catalog.list({ query: 've1', source_platforms: 'rss' })).documents
    assert.deepEqual(item!.document.classifications, [])
    await catalog.send({ ve1: { body: 'a new text', facts: [category('ve', 'version')] } })
    assert.deepEqual(await catalog.names({ classification_codes: 've' }), ['ve2', 've1'])
    await catalog.send({ ve2: { body: 'a new text', facts: [] } })
    assert.deepEqual(await catalog.names({ classification_codes: 've' }), ['ve1'])
  })

  test('what was changed or taken away matches no longer', async () => {
    await catalog.send({
      ch: { tags: ['ch1'], topics: ['ch1'], content_type: 'ch1', author: { external_author_id: 'ch1' } },
    })
    await catalog.send({ ch: { tags: ['ch2'], topics: null, content_type: 'ch2', author: null } })
    assert.deepEqual(await catalog.names({ tags: 'ch1' }), [])
    assert.deepEqual(await catalog.names({ tags: 'ch2' }), ['ch'])
    assert.deepEqual(await catalog.names({ topics: 'ch1' }), [])
    assert.deepEqual(await catalog.names({ content_types: 'ch1' }), [])
    assert.deepEqual(await catalog.names({ source_platforms: 'rss', external_author_id: 'ch1' }), [])
  })

  test('every filter at once', async () => {
    const all = {
      dataset_id: forum,
      source_platform: 'all',
      author: { external_author_id: 'all' },
      topics: ['all', 'none'],
      tags: ['all'],
      facts: [category('all')],
      score: 5,
      content_type: 'all',
      published_at: '2021-01-01T00:00:00Z',
      status: 'unavailable',
    }
    await catalog.send({ all1: all, all2: { ...all, score: 6 }, all3: { ...all, status: 'active' } })
    const parameters = {
      dataset_id: forum,
      source_platforms: 'all',
      external_author_id: 'all',
      topics: 'all,x',
      tags: 'x,all',
      classification_codes: 'all',
      score_min: 5,
      score_max: 5,
      content_types: 'all,y',
      published_from: '2021-01-01T00:00:00Z',
      published_to: '2021-01-01T00:00:01Z',
      status: 'unavailable',
      include_snapshot: true,
      limit: 200,
    }
    assert.deepEqual(await catalog.names(parameters), ['all1'])
    for (const name of ['topics', 'tags', 'classification_codes', 'content_types', 'external_author_id'] as const) {
      assert.deepEqual(await catalog.names({ ...parameters, [name]: 'z' }), [], name)
    }
  })

  test('200 values of a list, and 200 of another', async () => {
    await catalog.send({ lots: { tags: ['lots7'], topics: ['lots9'] } })
    const values = Array.from({ length: 200 }, (_, i) => `lots${i}`).join(',')
    assert.deepEqual(await catalog.names({ tags: values, topics: values }), ['lots'])
  })

  test('the latest snapshot is attached where asked, null where there is none', async () => {
    await catalog.send({ sn1: { tags: ['sn'], score: 1, metrics: { likes: 1 } }, sn2: { tags: ['sn'] } })
    await catalog.send({ sn1: { tags: ['sn'], score: 2, metrics: { likes: 5 }, observed_at: '2026-03-01T00:00:00Z' } })
    const { documents } = await catalog.list({ tags: 'sn', include_snapshot: true })
    assert.equal(documents[0]!.snapshot, null)
    const { snapshot_id, ...rest } = documents[1]!.snapshot
    assert.equal(typeof snapshot_id, 'string')
    assert.deepEqual(rest, { observed_at: '2026-03-01T00:00:00.000Z', score: 2, metrics: { likes: 5 } })
    const without = await catalog.list({ tags: 'sn', include_snapshot: false })
    assert.ok(without.documents.every((item) => !('snapshot' in item)))
  })
})
