import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { Catalog, datasetsOf } from './catalog-requests.ts'
import { documentsOf, send } from './content.ts'
import { expectError } from './expect-error.ts'

const datasets = datasetsOf('users')
const { news, forum } = datasets

suite('users', () => {
  let catalog: Catalog
  before(async () => {
    catalog = await Catalog.start(datasets)
  })
  const pathOf = (author: string, platform = 'rss') =>
    `/v1/users/${encodeURIComponent(platform)}/${encodeURIComponent(author)}`

  test('the profile comes from the newest document, with its observation time', async () => {
    const author = (nickname: string) => ({ author: { external_author_id: 'u1', nickname, biography: 'b' } })
    await catalog.send({ old: author('old') })
    const [newest] = await catalog.send({ new: { ...author('new'), observed_at: '2026-05-01T00:00:00Z' } })
    // An update does not make the older document the newest, because only the first ingest counts.
    await catalog.send({ old: { ...author('renamed'), observed_at: '2026-06-01T00:00:00Z' } })
    const answer = await catalog.get(pathOf('u1'))
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual(answer.body, {
      user: {
        source_platform: 'rss',
        external_author_id: 'u1',
        author: {
          external_author_id: 'u1',
          nickname: 'new',
          avatar_url: null,
          home_page: null,
          biography: 'b',
          follower_count: null,
          following_count: null,
          verified: null,
        },
        document_id: newest,
        observed_at: '2026-05-01T00:00:00.000Z',
      },
    })
  })

  test('the observation time moves when the document comes again unchanged, and nothing else does', async () => {
    const sent = { author: { external_author_id: 'again', nickname: 'n' }, title: 'The same' }
    const seen = async () => (await catalog.get(pathOf('again'))).body.user.observed_at
    const events = async () => (await catalog.get('/v1/changes', { dataset_id: news })).body.items.length
    const [id] = await catalog.send({ again: sent })
    const before = await catalog.get(`/v1/documents/${id}`)
    const [first, eventsBefore] = [await seen(), await events()]
    assert.equal(first, before.body.observed_at)
    // The clock must show a later millisecond than at the first time.
    while (Date.now() <= Date.parse(first)) await new Promise(setImmediate)
    const document = documentsOf(news)('again', sent)
    const [result] = await send(catalog.server, catalog.collector, [document])
    assert.equal(result!.outcome, 'unchanged')
    const second = await seen()
    assert.ok(second > first, `${second} is not after ${first}`)
    // The collector's own time wins over the clock, in either direction.
    await catalog.send({ again: { ...sent, observed_at: '2026-05-01T00:00:00Z' } })
    assert.equal(await seen(), '2026-05-01T00:00:00.000Z')
    assert.equal(await events(), eventsBefore)
    assert.equal((await catalog.get(`/v1/documents/${id}/versions`)).body.versions.length, 1)
    const after = await catalog.get(`/v1/documents/${id}`)
    assert.deepEqual({ ...after.body, observed_at: '' }, { ...before.body, observed_at: '' })
  })

  test('extras of the author are shown, the extra payload never is', async () => {
    const author = { external_author_id: 'ux', verified: true, extra: { badge: 'gold', level: 3, nickname: 'fake' } }
    await catalog.send({ extra: { author, extra_payload: { hidden: 'never shown' } } })
    const answer = await catalog.get(pathOf('ux'))
    assert.equal(answer.body.user.author.badge, 'gold')
    assert.equal(answer.body.user.author.level, 3)
    assert.equal(answer.body.user.author.verified, true)
    // An extra field never replaces a named one.
    assert.equal(answer.body.user.author.nickname, null)
    assert.doesNotMatch(answer.text, /never shown|extra/)
  })

  test('of documents that came in one batch, the one with the larger id is the newest', async () => {
    const author = (nickname: string) => ({ author: { external_author_id: 'ub', nickname } })
    const ids = await catalog.send({ b1: author('b1'), b2: author('b2'), b3: author('b3') })
    const { user } = (await catalog.get(pathOf('ub'))).body
    assert.equal(user.document_id, [...ids].sort().at(-1))
  })

  test('no sample is 404 user_not_found: unknown, other platform, other dataset, other case, not entitled', async () => {
    const missing = async (path: string, parameters = {}, key = catalog.key) => {
      const answer = await catalog.get(path, parameters, key)
      expectError(catalog.server, answer, 404, 'user_not_found')
      // A user whose documents came before the window is not found either. The message says so, and how to choose
      // another window.
      assert.match(answer.body.message, /ingested from \S+Z to \S+Z: set created_from and created_to to another window/)
    }
    await missing(pathOf('nobody'))
    for (const id of ['a'.repeat(513), 'a'.repeat(20_000), '海'.repeat(513), '%2F'.repeat(200)])
      await missing(pathOf(id))
    await missing(pathOf('u1', 'mastodon'))
    await missing(pathOf('U1'))
    await missing(pathOf('u1'), { dataset_id: forum })
    await missing(pathOf('u1'), { published_from: '2026-01-01T00:00:00Z' })
    await missing(pathOf('u1'), {}, await catalog.keyFor({ datasets: [forum] }))
    await missing(pathOf('u1'), {}, await catalog.keyFor({ datasets: [news], languages: ['de'] }))
  })

  test('the profile keeps to dataset and publication window', async () => {
    const author = (nickname: string) => ({ author: { external_author_id: 'uw', nickname } })
    await catalog.send({
      uw1: { ...author('first'), published_at: '2026-01-01T00:00:00Z' },
      uw2: { ...author('second'), published_at: '2026-02-01T00:00:00Z', dataset_id: forum },
    })
    const nickname = async (parameters: Record<string, string>) =>
      (await catalog.get(pathOf('uw'), parameters)).body.user.author.nickname
    assert.equal(await nickname({}), 'second')
    assert.equal(await nickname({ dataset_id: news }), 'first')
    assert.equal(await nickname({ published_to: '2026-02-01T00:00:00Z' }), 'first')
    assert.equal(await nickname({ published_from: '2026-02-01T00:00:00Z' }), 'second')
  })

  test('an author without an id of its own is no user', async () => {
    await catalog.send({ nick: { author: { nickname: 'u7' } } })
    assert.equal((await catalog.get(pathOf('u7'))).status, 404)
    assert.equal((await catalog.get(pathOf('null'))).status, 404)
  })

  test('ids with signs, spaces and other scripts, up to the longest', async () => {
    const odd = ['a/b', 'a b', 'ä%2F', '名前', '@me?x=1#y', '..', '512'.padEnd(512, 'x'), '長'.repeat(512)]
    await catalog.send(
      Object.fromEntries(odd.map((id, i) => [`odd${i}`, { author: { external_author_id: id, nickname: `n${i}` } }])),
    )
    for (const [i, id] of odd.entries()) {
      // A client resolves ".." to the parent folder before it sends a request, so only the listing can request it.
      if (id !== '..') {
        const answer = await catalog.get(pathOf(id))
        assert.equal(answer.status, 200, `${id.slice(0, 20)}: ${answer.text}`)
        assert.equal(answer.body.user.author.nickname, `n${i}`)
        assert.deepEqual(await catalog.names({}, catalog.key, `${pathOf(id)}/documents`), [`odd${i}`])
      }
      assert.deepEqual(await catalog.names({ source_platforms: 'rss', external_author_id: id }), [`odd${i}`])
    }
  })

  test('documents of a user: the listing with platform and author fixed, all other parameters as there', async () => {
    const by = (fields: object) => ({ author: { external_author_id: 'ud' }, ...fields })
    await catalog.send({
      ud1: by({ tags: ['x'], score: 1, status: 'unavailable' }),
      ud2: by({ tags: ['y'], score: 2, content_type: 'video' }),
      ud3: by({ tags: ['x', 'y'], dataset_id: forum }),
      ud4: { author: { external_author_id: 'other' }, tags: ['x'] },
      ud5: by({ source_platform: 'mastodon' }),
    })
    const path = `${pathOf('ud')}/documents`
    const names = (parameters = {}) => catalog.names(parameters, catalog.key, path)
    assert.deepEqual(await names(), ['ud3', 'ud2', 'ud1'])
    assert.deepEqual(await names({ tags: 'x' }), ['ud3', 'ud1'])
    assert.deepEqual(await names({ score_min: 2 }), ['ud2'])
    assert.deepEqual(await names({ status: 'unavailable' }), ['ud1'])
    assert.deepEqual(await names({ content_types: 'video' }), ['ud2'])
    assert.deepEqual(await names({ dataset_id: forum }), ['ud3'])
    const pages = await catalog.pages({ limit: 1, include_snapshot: true }, catalog.key, path)
    assert.deepEqual(
      pages.map(({ documents }) => documents.map(({ document, snapshot }) => [document.external_id, snapshot?.score])),
      [[['ud3', undefined]], [['ud2', 2]], [['ud1', 1]]],
    )
    const cursor = pages[0]!.next_cursor!
    await catalog.refused({ limit: 1, include_snapshot: true, cursor }, 'cursor', {
      path: `${pathOf('other')}/documents`,
    })
    await catalog.refused({ limit: 2, include_snapshot: true, cursor }, 'cursor', { path })
    assert.deepEqual((await catalog.list({}, catalog.key, `${pathOf('nobody')}/documents`)).documents, [])
  })
})
