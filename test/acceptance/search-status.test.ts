import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentsOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { type Found, type SearchWorld, sharedWorld } from './search-world.ts'

const datasets = ['status-news', 'status-forum'] as const
const [news] = datasets
const documentOf = documentsOf(news)

/** The collector's last report on the original: shown with every result, and a filter of every search. */
suite('search by status', () => {
  let world: SearchWorld
  const modes = ['keyword', 'vector', 'hybrid'] as const
  const routes = [
    ...modes.map((mode) => ({ path: `/v1/search/${mode}`, body: {} })),
    ...modes.flatMap((mode) =>
      ['/v1/search', '/v1/search/history', '/v1/contents/search'].map((path) => ({ path, body: { mode } })),
    ),
  ]

  before(async () => {
    world = await sharedWorld(datasets)
    await world.putIndexed(
      documentOf('there', { title: null, body: 'The harbour is open.' }),
      documentOf('gone', { title: null, body: 'The harbour was open.', status: 'unavailable' }),
    )
  })

  const statuses = ({ results }: Found) =>
    Object.fromEntries(results.map((hit) => [world.namesOf([hit])[0], (hit as { status?: string }).status]))

  for (const { path, body } of routes) {
    const ask = (more: object) => world.search({ query: 'harbour', ...body, ...more }, path)
    test(`${path} ${JSON.stringify(body)}: both by default, each on demand, and only those are counted`, async () => {
      assert.deepEqual(statuses(await ask({})), { there: 'active', gone: 'unavailable' })
      assert.deepEqual(statuses(await ask({ status: ['unavailable', 'active'] })), {
        there: 'active',
        gone: 'unavailable',
      })
      for (const [status, expected] of [
        ['active', { there: 'active' }],
        ['unavailable', { gone: 'unavailable' }],
      ] as const) {
        const found = await ask({ status: [status] })
        assert.deepEqual(statuses(found), expected)
        assert.deepEqual([found.total, found.total_documents, found.total_chunks], [1, 1, 1])
      }
    })
  }

  test('`fields` may name it, and leaves it out where it does not', async () => {
    const [named] = (await world.search({ query: 'harbour', fields: ['status'], status: ['active'] })).results
    assert.equal((named as { status?: string }).status, 'active')
    assert.equal('language' in named!, false)
    const [unnamed] = (await world.search({ query: 'harbour', fields: ['title'] })).results
    assert.equal('status' in unnamed!, false)
  })

  test('a cursor belongs to the statuses it was given for', async () => {
    const asked = { query: 'harbour', limit: 1, status: ['active', 'unavailable'] }
    const { cursor } = await world.search(asked)
    assert.ok(cursor !== undefined)
    assert.equal((await world.search({ ...asked, cursor })).results.length, 1)
    const other = await world.raw({ ...asked, status: ['active'], cursor })
    await expectError(world.server, other, 400, 'invalid_query')
  })

  test('what is no list of known statuses is refused by name', async () => {
    for (const status of [[], ['gone'], 'active', [null]]) {
      const answer = await world.raw({ query: 'harbour', status })
      await expectError(world.server, answer, 400, 'invalid_query')
      assert.match(answer.text, /status/)
    }
  })

  test('a change of status alone is followed', async () => {
    await world.put(documentOf('moved', { title: null, body: 'The quay is open.' }))
    const shown = async (status: string) => world.names({ query: 'quay', status: [status] })
    await until('it is found', async () => (await shown('active')).length === 1)
    await world.put(documentOf('moved', { title: null, body: 'The quay is open.', status: 'unavailable' }))
    await until('it is found as unavailable', async () => (await shown('unavailable')).length === 1)
    assert.deepEqual(await shown('active'), [])
    await world.put(documentOf('moved', { title: null, body: 'The quay is open.', status: 'active' }))
    await until('it is found as active again', async () => (await shown('active')).length === 1)
    assert.deepEqual(await shown('unavailable'), [])
  })
})
