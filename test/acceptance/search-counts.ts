import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, type Sent } from './content.ts'
import { expectError } from './expect-error.ts'
import type { Found, SearchWorld } from './search-world.ts'

interface Counted extends Found {
  readonly facets?: Record<string, { value: string; count: number }[]>
  readonly facets_exact?: boolean
}

const category = (code: string) => [{ kind: 'category', metadata: { label_code: code } }]

/** Catalog conditions, orders and counts in searches, and lists of values, in a dataset of its own. */
export function countsSuite(theWorld: () => SearchWorld): void {
  suite('conditions, order and counts', () => {
    let world: SearchWorld
    let key: string
    const document = (name: string, fields: Sent) =>
      documentOf(name, { dataset_id: 'counts', title: null, body: 'cormorant', ...fields })
    const ask = async (body: object): Promise<Counted> =>
      world.search({ query: 'cormorant', ...body }, '/v1/search', key) as Promise<Counted>
    const names = async (body: object) => world.namesOf((await ask(body)).results)
    const refused = async (body: object, field: string, by = key) => {
      const answer = await world.raw({ query: 'cormorant', ...body }, '/v1/search', by)
      await expectError(world.server, answer, 400, 'invalid_query')
      assert.ok(
        answer.body.details.some(({ path }: { path: string }) => path.startsWith(field)),
        answer.text,
      )
    }

    before(async () => {
      world = theWorld()
      await world.server.makeDataset('counts')
      key = await world.application([{ datasets: ['counts'] }])
      const [ann, bob] = ['ann', 'bob'].map((id) => ({ external_author_id: id }))
      await world.putIndexed(
        document('one', { author: ann, topics: ['sea', 'sky'], score: 3, published_at: '2026-03-01T12:00:00Z' }),
        document('two', {
          author: bob,
          topics: ['Sea'],
          tags: ['a,b'],
          score: -2,
          published_at: '2026-03-02T00:00:00Z',
        }),
        document('three', { author: ann, source_platform: 'board', facts: category('birds'), language: 'en' }),
        document('four', { topics: ['sea'], facts: category('birds'), status: 'unavailable', region: 'GB' }),
        document('other', { body: 'petrel', topics: ['sea', 'seal'], content_type: 'post' }),
      )
    })

    test('conditions are those of the listing', async () => {
      const created_from = new Date(Date.now() - 3_600_000).toISOString()
      for (const [body, listing, expected] of [
        [{ topics: ['sea'] }, 'topics=sea', ['four', 'one']],
        [{ topics: ['sea', 'Sea', 'none'] }, 'topics=sea,Sea,none', ['four', 'one', 'two']],
        [{ classification_codes: ['birds'] }, 'classification_codes=birds', ['four', 'three']],
        [{ score_min: -2, score_max: 2 }, 'score_min=-2&score_max=2', ['two']],
        [{ score_min: -2 }, 'score_min=-2', ['one', 'two']],
        [{ external_author_id: 'ann', platforms: ['rss'] }, 'external_author_id=ann&source_platforms=rss', ['one']],
        [{ topics: ['sea'], status: ['unavailable'] }, 'topics=sea&status=unavailable', ['four']],
        [{ tags: ['a'] }, 'tags=a', []],
      ] as const) {
        const found = (await names(body)).sort()
        assert.deepEqual(found, expected, listing)
        const path = `/v1/documents/browse?dataset_id=counts&created_from=${created_from}&${listing}`
        const { documents } = (await world.server.consumer(key, 'GET', path)).body
        const listed = documents.map((one: { document: { external_id: string } }) => one.document.external_id)
        assert.deepEqual(listed.filter((name: string) => name !== 'other').sort(), expected, listing)
      }
      assert.deepEqual(await names({ tags: ['a,b'] }), ['two'])
      for (const mode of ['vector', 'hybrid']) {
        for (const body of [{ topics: ['sea'] }, { score_min: 1 }, { sort: 'published_at' }, { tags: ['x'] }]) {
          await refused({ mode, ...body }, Object.keys(body)[0]!)
        }
        await refused({ mode, external_author_id: 'ann', platforms: ['rss'] }, 'external_author_id')
      }
      await refused({ external_author_id: 'ann' }, 'external_author_id')
      await refused({ external_author_id: 'ann', platforms: ['rss', 'board'] }, 'external_author_id')
      await refused({ score_min: 2, score_max: 1 }, 'score_min')
      await refused({ score_min: 0.5 }, 'score_min')
      await refused({ topics: [] }, 'topics')
      await refused({ topics: 'sea' }, 'topics')
      await refused({ sort: 'score' }, 'sort')
    })

    test('orders page to the end, and a cursor belongs to its order and conditions', async () => {
      for (const [sort, expected] of [
        ['published_at', ['one', 'two']],
        ['-published_at', ['two', 'one']],
        ['-score', ['one', 'two']],
      ] as const) {
        const paged: string[] = []
        const cursors: string[] = []
        for (let cursor: string | undefined; ; ) {
          const page = await ask({ sort, limit: 1, ...(cursor === undefined ? {} : { cursor }) })
          paged.push(...world.namesOf(page.results))
          cursor = page.cursor
          if (cursor === undefined) break
          cursors.push(cursor)
        }
        assert.deepEqual(paged.slice(0, 2), expected)
        assert.deepEqual(paged.slice(2).sort(), ['four', 'three'])
        assert.deepEqual(await names({ sort }), paged)
        await refused({ limit: 1, cursor: cursors[0] }, 'cursor')
        await refused({ sort, limit: 1, cursor: cursors[0], topics: ['sea'] }, 'cursor')
        // Other counts that need no further permission are allowed with the same cursor.
        assert.equal((await ask({ sort, limit: 1, cursor: cursors[0], facets: ['status'] })).results.length, 1)
      }
    })

    test('facets: of all that match in keyword mode, of the candidates in the others', async () => {
      const facets = ['dataset', 'platform', 'language', 'content_type', 'region', 'status', 'topics', 'tags', 'author']
      const all = [...facets, 'classifications', { published_at: 'month' }]
      const expected = {
        dataset: [{ value: 'counts', count: 4 }],
        platform: [
          { value: 'rss', count: 3 },
          { value: 'board', count: 1 },
        ],
        language: [{ value: 'en', count: 1 }],
        content_type: [],
        region: [{ value: 'GB', count: 1 }],
        status: [
          { value: 'active', count: 3 },
          { value: 'unavailable', count: 1 },
        ],
        topics: [
          { value: 'sea', count: 2 },
          { value: 'Sea', count: 1 },
          { value: 'sky', count: 1 },
        ],
        tags: [{ value: 'a,b', count: 1 }],
        author: [
          { value: 'ann', count: 2 },
          { value: 'bob', count: 1 },
        ],
        classifications: [{ value: 'birds', count: 2 }],
        published_at: [{ value: '2026-03-01', count: 2 }],
      }
      const keyword = await ask({ facets: all, limit: 1 })
      assert.deepEqual([keyword.facets, keyword.facets_exact, keyword.results.length], [expected, true, 1])
      const hybrid = await ask({ mode: 'hybrid', query: '+cormorant', facets: all, limit: 1 })
      assert.deepEqual([hybrid.facets, hybrid.facets_exact, hybrid.results.length], [expected, false, 1])
      const near = await ask({ mode: 'vector', facets: ['topics'], limit: 1 })
      assert.deepEqual(near.facets, {
        topics: [
          { value: 'sea', count: 3 },
          { value: 'Sea', count: 1 },
          { value: 'seal', count: 1 },
          { value: 'sky', count: 1 },
        ],
      })
      assert.equal(near.facets_exact, false)
      const one = await ask({ facets: ['topics', { published_at: 'day' }], facet_limit: 1, score_min: -2 })
      assert.deepEqual(one.facets, {
        topics: [{ value: 'Sea', count: 1 }],
        published_at: [{ value: '2026-03-01', count: 1 }],
      })
      const plain = await ask({})
      assert.deepEqual([plain.facets, plain.facets_exact], [undefined, undefined])
      const none = await ask({ query: 'nothing', facets: ['topics'] })
      assert.deepEqual([none.facets, none.facets_exact], [{ topics: [] }, true])
      for (const wrong of [[], ['score'], [{ published_at: 'year' }], 'topics', [{}], [null]]) {
        await refused({ facets: wrong }, 'facets')
      }
      await refused({ facets: [{ published_at: 'day' }, { published_at: 'week' }] }, 'facets')
      await refused({ facets: ['topics'], facet_limit: 101 }, 'facet_limit')
      await refused({ facets: ['topics'], facet_limit: 0 }, 'facet_limit')
    })

    test('each needs the permission that the listing needs for it, and of no document without it is anything told', async () => {
      const plain = await world.application([{ datasets: ['counts'], fields: ['title', 'body'] }])
      for (const body of [
        { external_author_id: 'ann', platforms: ['rss'] },
        { topics: ['sea'] },
        { tags: ['x'] },
        { classification_codes: ['birds'] },
        { score_min: 0 },
        { sort: '-score' },
        ...['author', 'topics', 'tags', 'classifications'].map((name) => ({ facets: [name] })),
      ]) {
        const answer = await world.raw({ query: 'cormorant', ...body }, '/v1/search', plain)
        await expectError(world.server, answer, 403, 'entitlement_denied')
      }
      const open = { facets: ['dataset', 'status', { published_at: 'week' }], sort: 'published_at' }
      assert.equal((await world.raw({ query: 'cormorant', ...open }, '/v1/search', plain)).status, 200)
      const partly = await world.application([
        { datasets: ['counts'], platforms: ['board'], fields: ['body'] },
        { datasets: ['counts'], platforms: ['rss'], fields: ['body', 'metadata'] },
      ])
      const asked = async (body: object) =>
        (await world.search({ query: 'cormorant', ...body }, '/v1/search', partly)) as Counted
      const { facets, ...counted } = await asked({ facets: ['platform', 'author'] })
      assert.deepEqual(facets, {
        platform: [
          { value: 'rss', count: 3 },
          { value: 'board', count: 1 },
        ],
        author: [
          { value: 'ann', count: 1 },
          { value: 'bob', count: 1 },
        ],
      })
      // Matches and scores are the same without counts.
      assert.deepEqual(counted, { ...(await asked({})), facets_exact: true })
      const near = await asked({ mode: 'hybrid', facets: ['author'] })
      assert.deepEqual(near.facets, { author: facets!.author })
      assert.deepEqual(world.namesOf(near.results), world.namesOf((await asked({ mode: 'hybrid' })).results))
    })

    test('in the order of scores, one that may not be read is none', async () => {
      const partly = await world.application([
        { datasets: ['counts'], fields: ['body'] },
        {
          datasets: ['counts'],
          platforms: ['rss'],
          published_from: '2026-03-02T00:00:00Z',
          fields: ['body', 'metrics'],
        },
      ])
      const page = await world.search({ query: 'cormorant', sort: '-score' }, '/v1/search', partly)
      assert.deepEqual(world.namesOf(page.results)[0], 'two')
      assert.deepEqual(world.namesOf(page.results).sort(), ['four', 'one', 'three', 'two'])
    })

    test('values: what there is, with counts, by its beginning, page by page, within the entitlements', async () => {
      const values = async (path: string, by = key) => world.server.consumer(by, 'GET', `/v1/values/${path}`)
      const told = async (path: string, by = key) => {
        const answer = await values(path, by)
        assert.equal(answer.status, 200, answer.text)
        return answer.body.values.map(({ value, count }: { value: string; count: number }) => `${value} ${count}`)
      }
      assert.deepEqual(await told('topics'), ['Sea 1', 'sea 3', 'seal 1', 'sky 1'])
      assert.deepEqual(await told('topics?prefix=se'), ['sea 3', 'seal 1'])
      assert.deepEqual(await told('tags?prefix=a%2C'), ['a,b 1'])
      assert.deepEqual(await told('classifications'), ['birds 2'])
      assert.deepEqual(await told('dataset'), ['counts 5'])
      assert.deepEqual(await told('platform?dataset_id=counts'), ['board 1', 'rss 4'])
      assert.deepEqual(await told('language'), ['en 1'])
      assert.deepEqual(await told('content_type'), ['post 1'])
      const paged: string[] = []
      for (let cursor = ''; ; ) {
        const { body } = await values(`topics?prefix=s&limit=2${cursor}`)
        paged.push(...body.values.map(({ value }: { value: string }) => value))
        if (body.next_cursor === undefined) break
        cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
        await expectError(world.server, await values(`topics?limit=2${cursor}`), 400, 'invalid_document_query')
      }
      assert.deepEqual(paged, ['sea', 'seal', 'sky'])
      const narrow = await world.application([
        { datasets: ['counts'], platforms: ['board'], fields: ['metadata'] },
        { datasets: ['counts'], fields: ['title'] },
      ])
      assert.deepEqual(await told('topics', narrow), [])
      assert.deepEqual(await told('platform', narrow), ['board 1', 'rss 4'])
      await expectError(world.server, await values('classifications', narrow), 403, 'entitlement_denied')
      const outside = await values('topics?dataset_id=unknown')
      await expectError(world.server, outside, 403, 'entitlement_denied')
      assert.equal(outside.body.details[0].path, 'dataset_id')
      for (const wrong of ['region', 'author', 'topics?limit=0', 'topics?limit=101', 'topics?cursor=x', 'topics?q=x']) {
        await expectError(world.server, await values(wrong), 400, 'invalid_document_query')
      }
    })

    test('what changes of a document alone is followed', async () => {
      const sent = (fields: Sent) => world.put(document('moved', { body: 'shag', ...fields }))
      const met = async (body: object) => (await ask({ query: 'shag', ...body })).results.length === 1
      await sent({ topics: ['old'], score: 1, author: { external_author_id: 'x' } })
      await until('it is found', () => met({ topics: ['old'] }))
      for (const [fields, body] of [
        [{ topics: ['new'] }, { topics: ['new'] }],
        [{ score: 9 }, { score_min: 9 }],
        [{ author: { external_author_id: 'y' } }, { external_author_id: 'y', platforms: ['rss'] }],
        [{ facts: category('moved') }, { classification_codes: ['moved'] }],
        [{ tags: ['t'] }, { tags: ['t'] }],
      ] as const) {
        await sent(fields)
        await until(`it is found by ${JSON.stringify(body)}`, () => met(body))
      }
      const { facets } = await ask({ query: 'shag', facets: ['topics', 'author', 'classifications'] })
      assert.deepEqual(facets, {
        topics: [{ value: 'new', count: 1 }],
        author: [{ value: 'y', count: 1 }],
        classifications: [{ value: 'moved', count: 1 }],
      })
      assert.equal(await met({ topics: ['old'] }), false)
    })
  })
}
