import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { bytesOnNodes, openSearchNodes, withoutOpenSearch } from '../support/opensearch-nodes.ts'
import { until } from '../support/until.ts'
import { documentOf, type Sent, send } from './content.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

const mark = (name: string): string => `mark${name}`.padEnd(40, 'x')
const marked = (name: string): Sent =>
  documentOf(name, {
    title: `A title with ${mark(name)}`,
    body: `A body with ${mark(name)} and more.`,
    author: { external_author_id: `author-${mark(name)}`, nickname: 'nick', follower_count: 1 },
    tags: [`tag-${mark(name)}`],
  })

suite('erasing where the search index has moved to a cluster', {
  skip: openSearchNodes === null ? withoutOpenSearch : false,
}, () => {
  const prefix = `test-${randomBytes(4).toString('hex')}`
  let world: SearchWorld
  before(async () => {
    world = await startWorld({ env: { TIDEMARK_LOG_LEVEL: 'info' } })
  })
  after(async () => {
    const indexes = (await (await fetch(`${openSearchNodes![0]}/${prefix}-*`)).json()) as object
    for (const name of Object.keys(indexes)) await fetch(`${openSearchNodes![0]}/${name}`, { method: 'DELETE' })
  })

  const sendOne = async (name: string): Promise<string> =>
    (await send(world.server, world.collector, [marked(name)]))[0]!.document_id!
  const erase = async (...ids: readonly string[]): Promise<string> =>
    (await world.server.mustAdmin('POST', '/admin/v1/erasures', { document_ids: ids })).erasure_id
  const erasure = (id: string) => world.server.mustAdmin('GET', `/admin/v1/erasures/${id}`)
  const completed = (id: string) =>
    until('the erasure is completed', async () => (await erasure(id)).status === 'completed')

  /** The files of embedded indexes. */
  const indexFiles = (): string[] => readdirSync(world.server.dataDir).filter((name) => name.startsWith('search'))
  const inIndexFiles = (): string =>
    indexFiles()
      .map((name) => readFileSync(join(world.server.dataDir, name), 'latin1'))
      .join('\n')
  const flushed = () => fetch(`${openSearchNodes![0]}/${prefix}-*/_flush?force=true`, { method: 'POST' })

  test('the index that was left behind is removed, and when an erasure is completed no byte is left in the cluster', async () => {
    const ids = [await sendOne('gone'), await sendOne('later')]
    await sendOne('stays')
    await world.indexed()
    for (const text of [mark('gone'), ...ids]) assert.ok(inIndexFiles().includes(text), text)
    assert.equal(await world.server.stop(), 0)

    await world.server.start({ TIDEMARK_SEARCH_URL: openSearchNodes!.join(','), TIDEMARK_SEARCH_PREFIX: prefix })
    await until('the index left behind is gone', () => indexFiles().length === 0)
    await until('that is told', () => world.server.logs.some(({ msg }) => String(msg).startsWith('removed the search')))
    await until('it is ready', async () => (await world.server.call('GET', '/readyz')).status === 200)
    await world.indexed()
    await flushed()
    const before = await bytesOnNodes(prefix)
    for (const name of ['gone', 'later', 'stays']) assert.ok(before.includes(mark(name)), name)

    await completed(await erase(...ids))
    const left = await bytesOnNodes(prefix)
    assert.ok(left.includes(mark('stays')))
    for (const text of [mark('gone'), mark('later'), ...ids]) assert.ok(!left.includes(text), text)
    assert.deepEqual(indexFiles(), [])
    assert.deepEqual((await world.search({ query: mark('stays') })).results.length, 1)
  })

  test('an erasure is not completed while an index that nothing uses cannot be removed', async () => {
    const id = await sendOne('held')
    await world.indexed()
    const { dataDir } = world.server
    // Locked as by a process that still searches the index.
    const lock = new DatabaseSync(join(dataDir, 'search-7.sqlite-lock'))
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
    writeFileSync(join(dataDir, 'search-7.sqlite'), id)
    const begun = await erase(id)
    await until('it is told why', () =>
      world.server.logs.some(
        ({ job, err }) =>
          job === 'unused-indexes' &&
          /is served by another process/.test(String((err as { message?: string }).message)),
      ),
    )
    assert.equal((await erasure(begun)).status, 'running')
    assert.ok(existsSync(join(dataDir, 'search-7.sqlite')))
    lock.close()
    await completed(begun)
    assert.deepEqual(indexFiles(), [])
  })
})
