import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { inDatabase } from '../support/in-database.ts'
import { until } from '../support/until.ts'
import { documentOf, feedPage, type Sent, send, sendOne, wholeFeed } from './content.ts'
import { expectError } from './expect-error.ts'
import { storeOf, tidemark } from './harness.ts'
import { type SearchWorld, startWorld } from './search-world.ts'

let world: SearchWorld
before(async () => {
  world = await startWorld()
})

/** Forty bytes that occur nowhere else. One word, so that it is a term of the index too. */
const mark = (name: string): string => `mark${name}`.padEnd(40, 'x')

/** Title, body, author, tags and every other text field contain the mark. */
const marked = (externalId: string, name: string, fields: Sent = {}): Sent =>
  documentOf(externalId, {
    title: `A title with ${mark(name)}`,
    body: `A body with ${mark(name)} and more. `.repeat(40),
    author: { external_author_id: `author-${mark(name)}`, nickname: `nick ${mark(name)}`, follower_count: 1 },
    tags: [`tag-${mark(name)}`],
    topics: [`topic-${mark(name)}`],
    url: `https://example.org/${mark(name)}`,
    score: 1,
    published_at: '2026-01-02T03:04:05Z',
    observed_at: '2026-01-03T03:04:05Z',
    metrics: { likes: 1 },
    facts: [{ kind: 'category', level: 'document', metadata: { label_code: mark(name) } }],
    extra_payload: { note: mark(name) },
    ...fields,
  })

interface ErasureBody {
  readonly erasure_id: string
  readonly status: string
  readonly documents: number
  readonly removed: number
  readonly created_at: string
  readonly completed_at: string | null
  readonly artifact_run_ids: readonly string[]
}

const erasure = (id: string): Promise<ErasureBody> => world.server.mustAdmin('GET', `/admin/v1/erasures/${id}`)

async function completed({ erasure_id: id }: ErasureBody): Promise<ErasureBody> {
  await until('the erasure is completed', async () => (await erasure(id)).status === 'completed')
  const done = await erasure(id)
  assert.equal(done.removed, done.documents)
  return done
}

/** Everything that is stored: the files of the data folder, and the rows of a database. */
async function kept(): Promise<string> {
  const { dataDir } = world.server
  const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), 'latin1'))
  const { TIDEMARK_DATABASE_URL: url } = await storeOf(dataDir)
  if (url === undefined) return files.join('\n')
  const tables = await inDatabase(url, `select tablename from pg_tables where schemaname = 'public'`)
  for (const { tablename } of tables) {
    const rows = await inDatabase(url, `select row_to_json(t)::text as row from ${tablename} t`)
    files.push(...rows.map(({ row }) => row))
  }
  return files.join('\n')
}

test('what is erased nobody finds from the answer on, and nothing is left of it when it is completed', async () => {
  const { server, key, collector } = world
  const [gone, stays] = await send(server, collector, [marked('e-1', 'gone'), marked('e-2', 'stays')])
  // An earlier version, which must be gone as well.
  await sendOne(
    server,
    collector,
    marked('e-1', 'gone', { body: `Another body with ${mark('gone')} and ${mark('later')}` }),
  )
  await world.indexed()
  const { events: all } = await wholeFeed(server, key)
  const { sequence } = all.at(-1)!
  const before = all.filter((one) => one.document_id === gone!.document_id)
  assert.ok(before.every((one) => one.changed_fields.length > 0 && one.occurred_at !== one.ingested_at))
  assert.deepEqual((await world.search({ query: mark('gone') })).results.length, 1)
  assert.ok((await kept()).includes(mark('gone')))

  const answer = await server.admin('DELETE', `/admin/v1/documents/${gone!.document_id}`)
  assert.equal(answer.status, 202, answer.text)
  const begun: ErasureBody = answer.body
  assert.equal(begun.documents, 1)
  assert.deepEqual(begun.artifact_run_ids, [])

  const id = gone!.document_id
  for (const path of ['', '/content', '/versions', '/snapshots', `/content?version_id=${gone!.version_id}`]) {
    await expectError(
      server,
      await server.consumer(key, 'GET', `/v1/documents/${id}${path}`),
      404,
      'document_not_found',
    )
  }
  const batch = await server.consumer(key, 'POST', '/v1/documents/batch-get', {
    document_ids: [id, stays!.document_id],
  })
  assert.equal(batch.status, 200, batch.text)
  assert.deepEqual(batch.body.missing, [id])
  for (const mode of ['keyword', 'vector', 'hybrid']) {
    const { results, total } = await world.search({ query: mark('gone'), mode, limit: 50 })
    assert.ok(!results.some((one) => one.document_id === id), mode)
    if (mode === 'keyword') assert.equal(total, 0)
  }
  const counted = await world.raw({ query: 'title', mode: 'keyword', facets: ['tags'] })
  assert.deepEqual(counted.body.facets, { tags: [{ value: `tag-${mark('stays')}`, count: 1 }] })
  const values = await server.consumer(key, 'GET', `/v1/values/tags?prefix=tag-mark`)
  assert.deepEqual(values.body.values, [{ value: `tag-${mark('stays')}`, count: 1 }])
  const browsed = await server.consumer(key, 'GET', '/v1/documents/browse?dataset_id=news&limit=100')
  assert.ok(!browsed.text.includes(mark('gone')) && browsed.text.includes(mark('stays')), browsed.text)
  const user = await server.consumer(key, 'GET', `/v1/users/rss/author-${mark('gone')}`)
  await expectError(server, user, 404, 'user_not_found')

  const done = await completed(begun)
  assert.equal(done.documents, 1)
  assert.notEqual(done.completed_at, null)
  const everything = await kept()
  assert.ok(!everything.includes(mark('gone')))
  assert.ok(!everything.includes(mark('later')))
  assert.ok(everything.includes(mark('stays')))
  assert.equal((await world.search({ query: mark('stays') })).results.length, 1)

  // The feed has the event for readers that request its type, and past events keep only their ids.
  const events = (await wholeFeed(server, key)).events.filter((one) => one.document_id === id)
  assert.deepEqual(
    events.map((one) => one.event_type),
    ['document.created', 'document.version.created'],
  )
  for (const { changed_fields, occurred_at, observed_at, ingested_at } of events) {
    assert.deepEqual([changed_fields, occurred_at, observed_at], [[], ingested_at, ingested_at])
  }
  assert.deepEqual(
    events.map(({ sequence, event_id, version_id }) => [sequence, event_id, version_id]),
    before.map(({ sequence, event_id, version_id }) => [sequence, event_id, version_id]),
  )
  const named = await feedPage(server, key, { event_type: 'document.erased' })
  assert.deepEqual(
    named.items.map((one) => [one.event_type, one.document_id, one.changed_fields]),
    [['document.erased', id, []]],
  )
  assert.ok(named.items[0]!.sequence > sequence)

  const { audit } = await server.mustAdmin('GET', '/admin/v1/audit')
  const lines = audit.filter((line: { target: string }) => line.target === begun.erasure_id)
  assert.deepEqual(
    lines.map((line: { action: string; actor: string; detail: object }) => [line.action, line.actor, line.detail]),
    [
      ['erasure.complete', 'admin-api', { documents: 1 }],
      ['erasure.begin', 'admin-api', { by: 'document_ids', keep_tombstones: true, purge_artifacts: false }],
    ],
  )
  await expectError(server, await server.admin('DELETE', `/admin/v1/documents/${id}`), 404, 'not_found')
})

test('what was erased is refused until its tombstone is lifted; then it is a new document', async () => {
  const { server, collector } = world
  const first = await sendOne(server, collector, documentOf('t-1'))
  const answer = await server.admin('POST', '/admin/v1/erasures', {
    document_ids: [first.document_id, 'doc_00000000000000000000000000'],
  })
  assert.equal(answer.status, 202, answer.text)
  assert.equal(answer.body.documents, 1)
  const [again, other] = await send(server, collector, [documentOf('t-1'), documentOf('t-2')])
  assert.deepEqual(again, { index: 0, outcome: 'erased' })
  assert.equal(other!.outcome, 'created')
  const identity = { dataset_id: 'news', source_platform: 'rss', external_id: 't-1' }
  const lifted = await server.admin('DELETE', '/admin/v1/tombstones', identity)
  assert.deepEqual([lifted.status, lifted.text], [204, ''])
  await expectError(server, await server.admin('DELETE', '/admin/v1/tombstones', identity), 404, 'not_found')
  const back = await sendOne(server, collector, documentOf('t-1'))
  assert.equal(back.outcome, 'created')
  assert.notEqual(back.document_id, first.document_id)

  // Without a tombstone the document may come back at once.
  await server.mustAdmin('POST', '/admin/v1/erasures', { document_ids: [back.document_id], keep_tombstones: false })
  assert.equal((await sendOne(server, collector, documentOf('t-1'))).outcome, 'created')
})

test('the tombstones of a whole erasure are lifted at once, through the API or on the command line', async () => {
  const { server, collector } = world
  const batch = ['l-1', 'l-2', 'l-3'].map((id) => documentOf(id))
  const lift = (...args: string[]) => tidemark(['erase', 'lift', ...args], { dataDir: server.dataDir })
  const eraseBatch = async () => {
    const document_ids = (await send(server, collector, batch)).map((one) => one.document_id)
    const begun = await server.mustAdmin('POST', '/admin/v1/erasures', { document_ids })
    return (await completed(begun)).erasure_id
  }
  const first = await eraseBatch()
  const path = `/admin/v1/erasures/${first}/tombstones`
  assert.deepEqual(await server.mustAdmin('DELETE', `${path}?dry_run=true`), { tombstones: 3 })
  assert.equal((await sendOne(server, collector, batch[0]!)).outcome, 'erased')
  assert.deepEqual(await server.mustAdmin('DELETE', path), { tombstones: 3 })
  assert.deepEqual(await server.mustAdmin('DELETE', path), { tombstones: 0 })
  await expectError(server, await server.admin('DELETE', '/admin/v1/erasures/ers_none/tombstones'), 404, 'not_found')
  const { audit } = await server.mustAdmin('GET', '/admin/v1/audit')
  const lines = audit.filter(({ target, action }: Record<string, string>) => target === first && /lift/.test(action!))
  assert.deepEqual(
    lines.map(({ action, detail }: { action: string; detail: object }) => [action, detail]),
    [['tombstone.lift', { documents: 3 }]],
  )

  const second = await eraseBatch()
  const dry = await lift('--erasure', second, '--dry-run')
  assert.deepEqual([dry.code, dry.stdout], [0, 'would lift the tombstones of 3 documents\n'])
  const lifted = await lift('--erasure', second)
  assert.deepEqual([lifted.code, lifted.stdout], [0, 'lifted the tombstones of 3 documents\n'])
  for (const one of await send(server, collector, batch)) assert.equal(one.outcome, 'created')
  for (const args of [[], ['news', 'rss'], ['news', 'rss', 'l-1', '--dry-run'], ['news', '--erasure', second]]) {
    const { code, stderr } = await lift(...args)
    assert.equal(code, 2, stderr)
    assert.match(stderr, /DATASET PLATFORM EXTERNAL_ID or --erasure ERASURE_ID/)
  }
})

test('all documents of an author are erased, and nobody else’s; a kill in the middle loses nothing', async () => {
  const { server, key, collector } = world
  const author = (id: string) => ({ author: { external_author_id: id, nickname: id } })
  const theirs = Array.from({ length: 250 }, (_, i) => marked(`a-${i}`, `byone${i}`, author('one')))
  await send(server, collector, [
    ...theirs,
    documentOf('b-1', author('two')),
    documentOf('b-2', { ...author('one'), source_platform: 'other' }),
    documentOf('b-3', { ...author('one'), dataset_id: 'forum' }),
  ])
  await world.indexed()
  const one = { dataset_id: 'news', source_platform: 'rss', external_author_id: 'one' }
  const answer = await server.admin('POST', '/admin/v1/erasures', { author: one })
  assert.equal(answer.status, 202, answer.text)
  assert.equal(answer.body.documents, 250)
  await server.kill9()
  await server.start()
  await expectError(
    server,
    await server.consumer(key, 'GET', '/v1/users/rss/one?dataset_id=news'),
    404,
    'user_not_found',
  )
  const done = await completed(answer.body)
  assert.deepEqual([done.documents, done.status], [250, 'completed'])
  assert.ok(!(await kept()).includes('markbyone'))
  const left = await world.search({ query: 'body', mode: 'keyword', limit: 50 })
  assert.ok(left.results.length > 0)
  for (const [id, dataset, platform] of [
    ['b-1', 'news', 'rss'],
    ['b-2', 'news', 'other'],
    ['b-3', 'forum', 'rss'],
  ]) {
    const again = await sendOne(server, collector, documentOf(id!, { dataset_id: dataset, source_platform: platform }))
    assert.notEqual(again.outcome, 'erased')
  }
  const [latest] = (await server.mustAdmin('GET', '/admin/v1/erasures?limit=1')).erasures
  assert.equal(latest.erasure_id, done.erasure_id)
})

test('all of a dataset is erased, or the dataset with it; the command line erases beside a server', async () => {
  const { server, collector } = world
  await server.makeDataset('spare')
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['spare'] }] })
  const inSpare = (id: string) => marked(id, `spare${id}`, { dataset_id: 'spare' })
  const [one, two] = await send(server, collector, [inSpare('1'), inSpare('2'), inSpare('3')])
  await world.indexed()
  const refused = await server.admin('DELETE', '/admin/v1/datasets/spare')
  await expectError(server, refused, 409, 'in_use')
  assert.deepEqual(refused.body.details, [
    { path: 'documents', message: 'documents: 3' },
    { path: 'applications', message: 'applications entitled to it: 1' },
  ])

  const erase = (...args: string[]) => tidemark(['erase', ...args], { dataDir: server.dataDir })
  const both = ['documents', one!.document_id!, 'nope']
  const dry = await erase(...both, '--dry-run')
  assert.deepEqual([dry.code, dry.stdout], [0, 'would erase 1 document with these IDs\n'])
  const unsure = await erase(...both)
  assert.deepEqual([unsure.code, unsure.stdout], [2, ''])
  assert.match(unsure.stderr, /add --yes to erase 1 document with these IDs/)
  const said = await erase(...both, '--yes')
  assert.equal(said.code, 0, said.stderr)
  assert.match(said.stderr, /no document found for 1 of the IDs/)
  assert.match(said.stdout, /erased 1 document from the store/)
  const author = `by author "nobody" on "rss" in dataset "spare"`
  for (const [args, none] of [
    [['documents', 'nope'], 'with this ID'],
    [['documents', one!.document_id!], 'with this ID'],
    [['author', 'spare', 'rss', 'nobody'], author],
  ] as const) {
    const nothing = await erase(...args, '--yes')
    assert.deepEqual([nothing.code, nothing.stdout], [1, ''])
    assert.equal(nothing.stderr, `tidemark: found no documents ${none}\n`)
  }
  const nowhere = await erase('dataset', 'nowhere', '--yes')
  assert.deepEqual([nowhere.code, nowhere.stdout], [1, ''])
  assert.match(nowhere.stderr, /there is no dataset "nowhere"/)
  const answer = await server.admin('POST', '/admin/v1/erasures', { dataset_id: 'spare' })
  assert.equal(answer.status, 202, answer.text)
  const id = two!.document_id
  await expectError(server, await server.consumer(key, 'GET', `/v1/documents/${id}`), 404, 'document_not_found')
  assert.deepEqual((await world.search({ query: 'body' }, '/v1/search', key)).results, [])
  assert.equal((await completed(answer.body)).documents, 2)
  assert.ok(!(await kept()).includes('markspare'))
  const { events } = await wholeFeed(server, key, { event_type: 'document.erased' })
  assert.equal(events.length, 3)
  assert.equal((await sendOne(server, collector, inSpare('2'))).outcome, 'erased')

  assert.equal((await sendOne(server, collector, inSpare('4'))).outcome, 'created')
  const deletion = await server.admin('DELETE', '/admin/v1/datasets/spare?force=true')
  assert.equal(deletion.status, 202, deletion.text)
  const late = await sendOne(server, collector, inSpare('5'))
  assert.equal(late.error?.code, 'unknown_dataset')
  assert.equal((await completed(deletion.body)).documents, 1)
  await expectError(server, await server.admin('DELETE', '/admin/v1/datasets/spare'), 404, 'not_found')
  const made = await server.admin('PUT', '/admin/v1/datasets/spare', { name: 'again', retain_days: 30 })
  assert.deepEqual([made.status, made.body.retain_days], [201, 30])
  await expectError(server, await server.admin('DELETE', '/admin/v1/datasets/spare'), 409, 'in_use')
  await server.makeDataset('unused')
  assert.equal((await server.admin('DELETE', '/admin/v1/datasets/unused')).status, 204)
})

test('a person is erased on every platform and in every dataset, by one command that shows where first', async () => {
  const { server, collector } = world
  await server.makeDataset('diary')
  const by = (datasetId: string, platform: string, author: string, id: string): Sent =>
    documentOf(id, { dataset_id: datasetId, source_platform: platform, author: { external_author_id: author } })
  await send(server, collector, [
    by('news', 'rss', 'jane-rss', 'jane-1'),
    by('news', 'rss', 'jane-rss', 'jane-2'),
    by('diary', 'rss', 'jane-rss', 'jane-3'),
    by('diary', 'forum', 'did:jane=doe', 'jane-4'),
    by('diary', 'forum', 'jane-rss', 'somebody else of that name'),
  ])
  const erase = (...args: string[]) => tidemark(['erase', 'person', ...args], { dataDir: server.dataDir })
  const jane = ['rss=jane-rss', 'forum=did:jane=doe', 'video=jane']
  const dry = await erase(...jane, '--dry-run')
  assert.equal(dry.code, 0, dry.stderr)
  assert.match(dry.stderr, /found no documents by "video=jane"/)
  const where = [/^diary +rss +jane-rss +1$/m, /^news +rss +jane-rss +2$/m, /^diary +forum +did:jane=doe +1$/m]
  for (const line of [...where, /^would erase 4 documents by these authors$/m]) assert.match(dry.stdout, line)
  const unsure = await erase(...jane)
  assert.equal(unsure.code, 2)
  assert.match(unsure.stderr, /add --yes to erase 4 documents by these authors/)
  for (const wrong of ['jane', '=jane', 'rss=']) assert.equal((await erase(wrong, '--yes')).code, 2, wrong)
  assert.equal((await erase('rss=jane-rss', 'rss=nobody', '--dry-run')).code, 0)

  const done = await erase(...jane, '--yes')
  assert.equal(done.code, 0, done.stderr)
  for (const line of where) assert.match(done.stdout, line)
  const again = await erase(...jane, '--yes')
  assert.deepEqual([again.code, again.stdout], [1, ''])
  assert.match(again.stderr, /found no documents by these authors in any dataset/)
  assert.equal((await erase('forum=jane-rss', '--dry-run')).code, 0)
})

test('a request to erase says what is wrong with it', async () => {
  const { server } = world
  const author = { dataset_id: 'news', source_platform: 'rss', external_author_id: 'x' }
  for (const body of [
    {},
    { document_ids: [] },
    { document_ids: ['x'], author },
    { author: {} },
    { document_ids: Array.from({ length: 1001 }, (_, i) => `doc_${i}`) },
    { other: 1 },
    { author, dataset_id: 'news' },
  ]) {
    await expectError(server, await server.admin('POST', '/admin/v1/erasures', body), 400, 'invalid_request')
  }
  await expectError(server, await server.admin('GET', '/admin/v1/erasures/ers_none'), 404, 'not_found')
  const elsewhere = { author: { ...author, dataset_id: 'nowhere' } }
  await expectError(server, await server.admin('POST', '/admin/v1/erasures', elsewhere), 404, 'not_found')
})

test('a rebuild of the index that was stopped keeps nothing of what is erased', async () => {
  const { server, collector } = world
  const [sent] = await send(server, collector, [marked('e-rebuilt', 'rebuilt')])
  await world.indexed()
  const { dataDir } = server
  // The files that a killed `tidemark reindex` leaves.
  writeFileSync(join(dataDir, 'search.next'), JSON.stringify({ generation: 99, rules: 'any', instance: null }))
  for (const ending of ['', '-wal']) writeFileSync(join(dataDir, `search-99.sqlite${ending}`), mark('rebuilt'))
  await completed(await server.mustAdmin('POST', '/admin/v1/erasures', { document_ids: [sent!.document_id] }))
  assert.deepEqual(
    readdirSync(dataDir).filter((name) => name.startsWith('search-99') || name.startsWith('search.next')),
    [],
  )
  assert.ok(!(await kept()).includes(mark('rebuilt')))
})
