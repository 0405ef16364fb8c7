import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, suite, test } from 'node:test'
import { freshDatabase } from '../support/fresh-database.ts'
import { inDatabase } from '../support/in-database.ts'
import { until } from '../support/until.ts'
import { type AnalysisWorld, startAnalysisWorld } from './analysis-world.ts'
import { documentOf, eventsAfter, type FeedEvent, feedPage, type Sent, send, wholeFeed } from './content.ts'
import { freshFolder, startServer, startTidemark, type TestServer, tidemark } from './harness.ts'
import { LiveWorld } from './live-world.ts'
import { startWorld } from './search-world.ts'

/** Selects the embedded store, even if the run uses the other one. */
const embedded = { TIDEMARK_DATABASE_URL: '' }

const copy = (dataDir: string, url: string, ...more: string[]) =>
  tidemark(['copy', '--from', dataDir, '--to', url, ...more], { env: embedded })

async function copied(dataDir: string, url: string): Promise<void> {
  const { code, stdout, stderr } = await copy(dataDir, url)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^complete, identical on both sides by count and SHA-256: \d+ documents and \d+ events/)
}

async function verified(dataDir: string, url: string): Promise<void> {
  const { code, stdout, stderr } = await copy(dataDir, url, '--verify')
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^identical on both sides, by count and SHA-256/)
}

async function refusedToServe(url: string): Promise<void> {
  for (const args of [['serve'], ['app', 'list']]) {
    const { code, stdout, stderr } = await tidemark(args, { env: { TIDEMARK_DATABASE_URL: url } })
    assert.equal(code, 2, stderr)
    assert.equal(stdout, '')
    assert.match(stderr, /^tidemark: the database is an unfinished copy: run tidemark copy again until [^\n]+\n$/)
  }
}

const oddTexts: readonly Sent[] = [
  { title: '👩‍👩‍👧‍👦 🏳️‍🌈 flags', body: '🌊 waves 🌊 and a lone half: \ud83c.' },
  { title: '潮汐表', body: '潮汐是海水的周期性涨落。ร้านอาหาร 한국어 日本語のテキスト' },
  { title: 'Control', body: 'tab\t line\nfeed\r bell\u0007 escape\u001b nul\u0000 delete\u007f \u2028 \ufeff \uffff' },
  { title: 'e\u0301 is not é', body: '\'; drop table document; -- \\N \\. \\x00 "quoted" {a,b}' },
  { title: 'Long', body: 'The tide comes in, the tide goes out. '.repeat(40_000) },
  { title: 'No body', body: null },
]

suite('an instance that moves from the embedded store to PostgreSQL', () => {
  let world: AnalysisWorld
  let collector: string

  before(async () => {
    world = await startAnalysisWorld(
      { live: { enabled: true, max_items_per_platform: 20 }, daily_quotas: { changes: 10_000 } },
      embedded,
    )
    collector = world.search.collector
    await world.server.mustAdmin('PUT', '/admin/v1/datasets/news/classifications/sea', { name: 'Sea' })
    const facts = [{ kind: 'category', level: 'document', metadata: { label_code: 'sea' } }]
    await world.search.putIndexed(
      ...oddTexts.map((texts, i) => documentOf(`odd-${i}`, texts)),
      ...Array.from({ length: 30 }, (_, i) =>
        documentOf(`d-${i}`, {
          body: `harbour ${i}, and the tide of ${i % 7}`,
          topics: ['tides', `t${i % 3}`],
          author: { external_author_id: 'u1', nickname: 'Ada' },
          metrics: { likes: i },
          score: i - 10,
          quality: i / 30,
          extra_payload: { i, nested: { text: '\u0000' } },
          ...(i % 2 === 0 ? { facts } : {}),
        }),
      ),
    )
    await world.search.put(
      documentOf('d-0', { body: 'a second version of the harbour' }),
      documentOf('d-1', { metrics: { likes: 99 }, tags: ['hot'], language: 'de' }),
    )
    await world.graph()
    const live = new LiveWorld(world.server, world.key, collector)
    await live.lease()
    const query = await live.start({}, 'the-key')
    const [task] = await live.tasks()
    await live.task(task.task_id, 'documents', { documents: [{ external_id: 'live-1', body: 'fresh from the quay' }] })
    await live.task(task.task_id, 'complete', { status: 'succeeded' })
    assert.equal((await live.status(query.id)).status, 'completed')
  })

  const queries = ['harbour', 'tide', '潮汐', 'quay']

  /** Everything that applications and operators see, by the same requests each time. */
  async function seen(server: TestServer, documentIds: readonly string[]): Promise<Record<string, unknown>> {
    const answers: Record<string, unknown> = {}
    const ask = async (path: string, body?: object): Promise<unknown> => {
      const answer = await server.consumer(world.key, body === undefined ? 'GET' : 'POST', path, body)
      assert.equal(answer.status, 200, `${path}: ${answer.text}`)
      answers[`${path} ${JSON.stringify(body)}`] = answer.body
      return answer.body
    }
    for (const id of documentIds) {
      for (const part of ['', '/content', '/versions', '/snapshots']) await ask(`/v1/documents/${id}${part}`)
    }
    for (const query of queries) {
      for (const mode of ['keyword', 'vector', 'hybrid']) {
        await ask(`/v1/search/${mode}`, { query, limit: 20, include_highlights: true })
      }
    }
    await ask('/v1/classifications?dataset_id=news')
    await ask('/v1/users/rss/u1')
    const { runs } = (await ask('/v1/analysis/runs')) as { runs: { run_id: string }[] }
    for (const { run_id } of runs) {
      const { artifacts } = (await ask(`/v1/analysis/runs/${run_id}/artifacts`)) as {
        artifacts: { artifact_id: string }[]
      }
      assert.equal(artifacts.length, 1)
      await ask(`/v1/analysis/runs/${run_id}/artifacts/${artifacts[0]!.artifact_id}/file`)
    }
    for (const path of ['applications', 'keys', 'collectors', 'datasets', 'embedding-profiles', 'audit']) {
      const { body } = await server.admin('GET', `/admin/v1/${path}`)
      answers[path] = JSON.parse(JSON.stringify(body, (name, value) => (name === 'last_used_at' ? undefined : value)))
    }
    return answers
  }

  test('copied while it serves and is written to, then stopped and finished: everything is as it was', async () => {
    const { server, key } = world
    const { url } = await freshDatabase()
    const quota = await server.makeApplication({
      entitlements: [{ datasets: ['news'] }],
      policy: { daily_quotas: { search: 3 } },
    })
    const search = () => server.consumer(quota.key, 'POST', '/v1/search', { query: 'tide' })
    for (const _ of [1, 2]) assert.equal((await search()).status, 200)
    const revoked = await server.makeApplication()
    await server.mustAdmin('POST', `/admin/v1/keys/${revoked.keyId}/revoke`)
    const [forgotten] = await send(server, collector, [documentOf('forgotten')])
    const erasure = await server.mustAdmin('DELETE', `/admin/v1/documents/${forgotten!.document_id}`)
    const isErased = async () =>
      (await server.mustAdmin('GET', `/admin/v1/erasures/${erasure.erasure_id}`)).status === 'completed'
    await until('it is erased', isErased)

    let writing = true
    let batches = 0
    const writer = (async () => {
      for (; writing; batches++) {
        const changed = documentOf(`d-${batches % 30}`, { score: batches, body: `changed for the ${batches}th time` })
        await send(server, collector, [changed, documentOf(`w-${batches}`, { topics: [`w${batches % 5}`] })])
      }
    })()
    await until('it is written to', async () => batches > 3)
    const batchesBefore = batches
    const bulk = await copy(server.dataDir, url)
    assert.equal(bulk.code, 0, bulk.stderr)
    assert.match(
      bulk.stdout,
      /not complete yet, because the store is in use: stop the server, then run the same command/,
    )
    assert.ok(batches > batchesBefore, 'writers were not held up')
    await refusedToServe(url)
    writing = false
    await writer

    await world.search.indexed()
    const first = await feedPage(server, key, { limit: 20 })
    const { events, cursor: end } = await wholeFeed(server, key)
    const browse = `/v1/documents/browse?dataset_id=news&limit=20`
    const { next_cursor } = (await server.consumer(key, 'GET', browse)).body
    const page = async () => (await server.consumer(key, 'GET', `${browse}&cursor=${next_cursor}`)).body.documents
    const listed = await page()
    assert.equal(listed.length, 20)
    const sent = new Set(events.map((event) => event.document_id))
    sent.delete(forgotten!.document_id!)
    const documentIds = [...sent].slice(0, 45)
    const before = await seen(server, documentIds)
    const textsBefore = world.search.embedding.texts.length
    await server.stop()

    await copied(server.dataDir, url)
    await verified(server.dataDir, url)
    await server.start({ TIDEMARK_DATABASE_URL: url, TIDEMARK_LOG_LEVEL: 'info' })
    assert.deepEqual(await seen(server, documentIds), before)
    assert.deepEqual((await wholeFeed(server, key)).events, events)
    assert.deepEqual((await wholeFeed(server, key, { cursor: first.next_cursor })).events, events.slice(20))
    assert.deepEqual(await eventsAfter(server, key, end), [])
    assert.deepEqual(await page(), listed)
    assert.deepEqual([(await search()).status, (await search()).status], [200, 429], 'two of three were used before')
    assert.equal((await server.consumer(revoked.key, 'GET', '/v1/account')).status, 401)

    const [refused] = await send(server, collector, [documentOf('forgotten')])
    assert.deepEqual(refused, { index: 0, outcome: 'erased' })
    assert.ok(await isErased())
    const body = 'written to the other store'
    const [made] = await send(server, collector, [documentOf('new', { body })])
    const after: FeedEvent[] = await eventsAfter(server, key, end)
    assert.deepEqual(
      after.map(({ document_id, sequence }) => [document_id, sequence]),
      [[made!.document_id, events.at(-1)!.sequence + 1]],
    )
    const [changed] = await send(server, collector, [documentOf('d-2', { body: undefined, score: 1_000_000 })])
    assert.equal(changed!.outcome, 'metrics_updated')
    await until('the index goes on', async () => {
      const found = await server.consumer(key, 'POST', '/v1/search', { query: body, mode: 'vector' })
      return found.body.results[0]?.document_id === made!.document_id
    })
    assert.deepEqual(new Set(world.search.embedding.texts.slice(textsBefore)), new Set([...queries, body]))
    assert.ok(!server.logs.some(({ msg }) => /built anew/.test(String(msg))), 'the index was taken over')
    assert.match((await copy(server.dataDir, url)).stderr, /already has a complete copy of this instance/)
    await server.stop()
  })

  test('what retention removed is not given out again', async () => {
    const server = await startServer({ env: embedded })
    await server.makeDataset('news')
    const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
    const { key: collector } = await server.makeCollector()
    await send(server, collector, [documentOf('a'), documentOf('b'), documentOf('c')])
    const { cursor } = await wholeFeed(server, key)
    await server.stop()
    const store = new DatabaseSync(join(server.dataDir, 'tidemark.sqlite'))
    store.exec('delete from event; update feed_state set removed_through = 3')
    store.close()
    const { url } = await freshDatabase()
    await copied(server.dataDir, url)
    await server.start({ TIDEMARK_DATABASE_URL: url })
    await send(server, collector, [documentOf('d')])
    assert.deepEqual(
      (await eventsAfter(server, key, cursor)).map(({ sequence }) => sequence),
      [4],
    )
    await server.stop()
  })

  suite('of some thousand documents', () => {
    let server: TestServer
    /** The address of a database that has all rows, but no mark that the copy is complete. */
    let unfinished: string
    before(async () => {
      const search = await startWorld({ env: embedded })
      server = search.server
      for (let start = 0; start < 3000; start += 500) {
        const documents = Array.from({ length: 500 }, (_, i) =>
          documentOf(`k-${start + i}`, { body: `body ${start + i} `.repeat(30), topics: ['a', 'b'], score: i }),
        )
        await search.put(...documents)
      }
      await search.indexed()
    })

    test('a copy that is killed goes on when it is run again, from wherever it was', async () => {
      const { url } = await freshDatabase()
      const rowsOf = async (table: string): Promise<number> => {
        const [there] = await inDatabase(url, `select to_regclass('${table}') is not null as there`)
        return there.there ? Number((await inDatabase(url, `select count(*) from ${table}`))[0].count) : 0
      }
      let killed = 0
      for (const table of ['unfinished_copy', 'document', 'document_version', 'event', 'snapshot']) {
        const running = await startTidemark(['copy', '--from', server.dataDir, '--to', url], { env: embedded })
        await until(`there is something in ${table}`, async () => (await rowsOf(table)) > 0)
        running.kill9()
        if ((await running.ended).code === null) killed++
        assert.equal(await rowsOf('unfinished_copy'), 1)
      }
      await refusedToServe(url)
      assert.ok(killed >= 3, `${killed} of 5 were killed before their end`)
      await server.stop()
      const last = await startTidemark(['copy', '--from', server.dataDir, '--to', url], { env: embedded })
      last.kill9()
      assert.equal((await last.ended).code, null)
      await copied(server.dataDir, url)
      await verified(server.dataDir, url)
    })

    test('what was changed by hand in an unfinished copy is brought into line, in a finished one it is found', async () => {
      const { url } = await freshDatabase()
      const damage = [
        "delete from document where external_id = 'k-77'",
        "update document_version set body = body || ' ' where version_id = (select max(version_id) from document_version)",
        "insert into document_term select kind, 'made up', dataset_id, document_id from document_term limit 1",
        'update chunk_vector set vector = set_byte(vector, 3, get_byte(vector, 3) # 1) ' +
          'where chunk_id = (select min(chunk_id) from chunk_vector)',
        'update signing_key set secret = upper(secret)',
      ]
      await server.start()
      assert.equal((await copy(server.dataDir, url)).code, 0)
      assert.equal(
        (await copy(server.dataDir, url, '--verify')).stderr.trim(),
        'tidemark: the store is in use and may change during the comparison: stop the server first',
      )
      await server.stop()
      unfinished = (await freshDatabase(`template ${new URL(url).pathname.slice(1)}`)).url
      await inDatabase(url, ...damage)
      await copied(server.dataDir, url)

      await inDatabase(url, ...damage)
      const found = await copy(server.dataDir, url, '--verify')
      assert.equal(found.code, 1)
      assert.equal(found.stdout, '')
      const named = [...found.stderr.matchAll(/^different: (\w+): (.*)$/gm)].map(([, table, what]) => [table, what])
      assert.deepEqual(
        named.map(([table]) => table),
        ['chunk_vector', 'document', 'document_term', 'document_version', 'signing_key'],
      )
      assert.match(named[1]![1]!, /^1999 rows instead of 2000 \(document_id through doc_\w+\)$/)
    })

    test('a database that does not keep what is written is never complete', async () => {
      const url = unfinished
      await inDatabase(
        url,
        "create function meddle() returns trigger language plpgsql as $$ begin new.name := 'x'; return new; end $$",
        'create trigger meddle before insert or update on dataset for each row execute function meddle()',
        "update dataset set name = 'y'",
      )
      const { code, stderr } = await copy(server.dataDir, url)
      assert.equal(code, 1)
      assert.match(stderr, /^different: dataset: 2 rows are not all the same$/m)
      assert.match(stderr, /^the copy is not complete: something else writes to the database/m)
      await refusedToServe(url)
      await inDatabase(url, 'drop trigger meddle on dataset')
      await copied(server.dataDir, url)
    })

    test('a database that has something else is left as it is', async () => {
      const used = await freshDatabase()
      const begun = await freshDatabase()
      const other = await startServer({ env: { TIDEMARK_DATABASE_URL: used.url } })
      await inDatabase(begun.url, "create table unfinished_copy as select 'aud_another' as instance")
      for (const [url, reason] of [
        [used.url, /^tidemark: the database \S+ has another instance: use an empty database\n$/],
        [begun.url, /^tidemark: the database \S+ has an unfinished copy of another instance: use an empty database\n$/],
      ] as const) {
        const { code, stderr } = await copy(server.dataDir, url)
        assert.equal(code, 1)
        assert.match(stderr, reason)
      }
      const { url: empty } = await freshDatabase()
      assert.match((await copy(server.dataDir, empty, '--verify')).stderr, /has no copy of this instance/)
      assert.deepEqual(
        await inDatabase(empty, 'select from pg_class where relnamespace = current_schema()::regnamespace'),
        [],
      )
      await other.stop()
    })

    test('wrong arguments are told in one line', async () => {
      const { url } = await freshDatabase()
      const gone = url.replace(/[^/]+$/, 'no_such_database')
      const cases: [string[], RegExp][] = [
        [['--from', server.dataDir], /no target: use --to postgres:\/\//],
        [
          ['--from', server.dataDir, '--to', 'mysql://u:secret@host/db'],
          /TIDEMARK_DATABASE_URL .* it must be an address such as postgres/,
        ],
        [
          ['--from', freshFolder(), '--to', url],
          /there is no store in \S+: --from must be the data folder of an instance/,
        ],
        [
          ['--from', server.dataDir, '--to', gone],
          /the database \S+no_such_database cannot be used: .* does not exist/,
        ],
        [['--from', server.dataDir, '--to', url, '--fast'], /unknown option '--fast'/],
      ]
      for (const [args, message] of cases) {
        const { code, stdout, stderr } = await tidemark(['copy', ...args], { env: embedded })
        assert.equal(code, 2, stderr)
        assert.equal(stdout, '')
        assert.match(stderr.split('\n')[0]!, message)
        assert.doesNotMatch(stderr, /secret|\n\s+at /)
      }
    })
  })
})
