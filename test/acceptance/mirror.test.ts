import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { before, describe, test } from 'node:test'
import { parquetReadObjects } from 'hyparquet'
import { jsonFields } from '../support/document-fields.ts'
import { inDatabase } from '../support/in-database.ts'
import { documentOf, type Sent, send } from './content.ts'
import { freshFolder, noVectors, startServer, storeOf, type TestServer, tidemark } from './harness.ts'

type Row = Record<string, ReturnType<typeof JSON.parse>>

/** `tidemark mirror`: the tests read its copy directly and compare it with the server. */
describe('a mirror', () => {
  let server: TestServer
  let collector: string
  let folder: string
  const entitlements = [{ datasets: ['news', 'blogs'] }]

  before(async () => {
    server = await startServer({ env: noVectors })
    folder = freshFolder()
    for (const dataset of ['news', 'blogs']) await server.makeDataset(dataset)
    collector = (await server.makeCollector()).key
    const documents = Array.from({ length: 1200 }, (_, i) =>
      documentOf(`d${i}`, { dataset_id: i % 3 === 0 ? 'blogs' : 'news', tags: [`t${i % 7}`], score: i }),
    )
    for (let from = 0; from < documents.length; from += 400) {
      await send(server, collector, documents.slice(from, from + 400))
    }
  })

  const mirror = (key: string, to: string, ...flags: string[]) =>
    tidemark(['mirror', '--url', server.address, '--to', to, ...flags], { env: { TIDEMARK_KEY: key } })

  async function mirrored(key: string, to: string, ...flags: string[]) {
    const ended = await mirror(key, to, ...flags)
    assert.equal(ended.code, 0, ended.stdout + ended.stderr)
    return ended
  }

  const readSqlite = (path: string): Row[] => {
    const db = new DatabaseSync(path, { readOnly: true })
    const rows = db.prepare('select * from document order by id').all()
    db.close()
    return rows.map((row) => {
      const parsed = jsonFields.map(({ name }) => [name, JSON.parse(String(row[name]))])
      return { ...row, ...Object.fromEntries(parsed) }
    })
  }

  const readParquet = async (path: string): Promise<Row[]> => {
    const rows: Row[] = []
    for (const name of readdirSync(path).filter((one) => one.endsWith('.parquet'))) {
      const { buffer, byteOffset, length } = readFileSync(join(path, name))
      rows.push(...(await parquetReadObjects({ file: buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer })))
    }
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  const readPostgres = (url: string): Promise<Row[]> =>
    inDatabase(url, 'select * from tidemark_mirror.document order by id')

  /** The server's current documents, by batch-get of the ids in the copy. */
  async function nowOf(key: string, ids: readonly string[]): Promise<Row[]> {
    const documents: Row[] = []
    for (let from = 0; from < ids.length; from += 200) {
      const asked = { document_ids: ids.slice(from, from + 200) }
      documents.push(...(await server.consumer(key, 'POST', '/v1/documents/batch-get', asked)).body.documents)
    }
    return documents.map(({ content, ...document }) => ({
      ...document,
      version_id: content.version_id,
      version_title: content.title,
      body: content.body,
    }))
  }

  const countOf = async (key: string): Promise<number> =>
    JSON.parse((await server.consumer(key, 'GET', '/v1/export')).text.trimEnd().split('\n').at(-1)!).documents

  const plain = (rows: readonly Row[]): Row[] => JSON.parse(JSON.stringify(rows))

  test('every kind of copy: export, then what was added, changed and erased; each equals what the server says', async () => {
    const { key } = await server.makeApplication({ entitlements })
    const { TIDEMARK_DATABASE_URL: database } = await storeOf(server.dataDir)
    const kinds: [string, (to: string) => Row[] | Promise<Row[]>][] = [
      [join(folder, 'copy.sqlite'), readSqlite],
      [join(folder, 'parquet'), readParquet],
      // Other tables in the database are left alone, even those of a store.
      ...(database === undefined ? [] : [[database, readPostgres] as [string, typeof readPostgres]]),
    ]
    for (const [to] of kinds) assert.match((await mirrored(key, to, '--once')).stderr, /exported: 1200 documents/)

    const ids = (await server.consumer(key, 'GET', '/v1/export?limit=10')).text
      .split('\n')
      .flatMap((line) => (line.includes('"document"') ? [JSON.parse(line).document.id as string] : []))
    const change = (fields: Sent) => ({ dataset_id: 'news', source_platform: 'rss', ...fields })
    await send(server, collector, [
      documentOf('new one', { author: { external_author_id: 'u1', nickname: 'Ann', extra: { city: 'Hull' } } }),
      change({ external_id: 'd1', title: 'Another title' }),
      change({ external_id: 'd2', score: 77 }),
      change({ external_id: 'd4', tags: ['changed'], status: 'unavailable' }),
      change({ external_id: 'd5', author: { external_author_id: 'u2' } }),
    ])
    const erased = ids.slice(7, 9)
    await server.mustAdmin('DELETE', `/admin/v1/documents/${erased[0]}`)
    await server.mustAdmin('POST', '/admin/v1/erasures', { document_ids: [erased[1]] })
    for (const [to, read] of kinds) {
      assert.match((await mirrored(key, to, '--verify')).stdout, /^equal: 1199 documents$/m)
      const rows = plain(await read(to))
      assert.equal(rows.length, 1199)
      assert.ok(!rows.some(({ id }) => erased.includes(id)))
      const names = ['new one', 'd1', 'd2', 'd4', 'd5']
      assert.equal(rows.filter(({ external_id }) => names.includes(external_id)).length, names.length)
      const expected = await nowOf(
        key,
        rows.map(({ id }) => id),
      )
      assert.deepEqual(rows, expected)
    }
  })

  test('--verify names what differs, field by field, and ends with 1', async () => {
    const { key } = await server.makeApplication({ entitlements })
    const to = join(folder, 'differs.sqlite')
    await mirrored(key, to, '--once')
    const db = new DatabaseSync(to)
    const [changed, removed] = db.prepare('select id from document order by id limit 2').all() as { id: string }[]
    db.prepare("update document set title = 'tampered with', score = null where id = ?").run(changed!.id)
    db.prepare('delete from document where id = ?').run(removed!.id)
    db.exec("insert into document (id, body) values ('doc_0', 'never was')")
    db.close()
    const { code, stdout } = await mirror(key, to, '--verify')
    assert.equal(code, 1)
    assert.deepEqual(
      stdout.trimEnd().split('\n').sort(),
      [
        `${changed!.id}: title, score`,
        `${removed!.id}: missing from the copy`,
        `different: 3 documents; equal: ${(await countOf(key)) - 2}`,
        'doc_0: not on the server, or not readable by this application',
      ].sort(),
    )
  })

  test('what the application is entitled to may change: the copy follows, also in what it may read of a document', async () => {
    const { key, applicationId } = await server.makeApplication({ entitlements })
    const to = join(folder, 'narrowed.sqlite')
    await mirrored(key, to, '--once')
    const entitle = (next: readonly object[]) =>
      server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, { entitlements: next })
    const datasets = () => [...new Set(readSqlite(to).map(({ dataset_id }) => dataset_id))].sort()
    await entitle([{ datasets: ['blogs'], fields: ['title'] }])
    const narrowed = await mirrored(key, to, '--verify')
    assert.match(
      narrowed.stderr,
      /starting over: the entitlements of the application or the copied fields have changed/,
    )
    assert.deepEqual(datasets(), ['blogs'])
    assert.ok(
      readSqlite(to).every(({ title, body, tags, score }) => title && body === null && tags === null && score === null),
    )
    await entitle([{ datasets: ['news'] }, { datasets: ['blogs'] }])
    assert.match(
      (await mirrored(key, to, '--verify')).stdout,
      new RegExp(`^equal: ${await countOf(key)} documents$`, 'm'),
    )
    assert.deepEqual(datasets(), ['blogs', 'news'])
    // Equivalent entitlements in another form are no change.
    await entitle([{ datasets: ['blogs'] }, { datasets: ['news'] }])
    assert.doesNotMatch((await mirrored(key, to, '--once')).stderr, /starting over/)
  })

  test('a cursor that the server does not know begins the copy anew', async () => {
    const { key } = await server.makeApplication({ entitlements })
    const to = join(folder, 'unknown.sqlite')
    await mirrored(key, to, '--once')
    const db = new DatabaseSync(to)
    db.exec(`update place set place = json_set(place, '$.changesCursor', 'of another server')`)
    db.close()
    const { stderr } = await mirrored(key, to, '--verify')
    assert.match(stderr, /starting over: .*not issued by this service/)
  })

  test('of an export that broke off before its first checkpoint nothing is kept: the next one begins at a later place of the feed', async () => {
    const { key } = await server.makeApplication({ entitlements })
    const to = join(folder, 'broken-off.sqlite')
    let exports = 0
    const relay = createServer(async (incoming, outgoing) => {
      const answer = await fetch(new URL(incoming.url!, server.address), {
        method: incoming.method!,
        headers: { authorization: incoming.headers.authorization!, 'content-type': 'application/json' },
        ...(incoming.method === 'POST' ? { body: await text(incoming) } : {}),
      })
      const whole = await answer.text()
      outgoing.writeHead(answer.status)
      if (!incoming.url!.startsWith('/v1/export') || exports++ > 0) {
        outgoing.end(whole)
        return
      }
      const lines = whole.split('\n').slice(0, 100)
      const { external_id, dataset_id } = JSON.parse(lines.at(-1)!).document
      await send(server, collector, [
        { dataset_id, source_platform: 'rss', external_id, title: 'Changed when its line had been read' },
      ])
      outgoing.write(`${lines.join('\n')}\n`, () => outgoing.socket!.end())
    })
    await once(relay.listen(0, '127.0.0.1'), 'listening')
    try {
      const through = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
      const { code, stderr } = await tidemark(['mirror', '--url', through, '--to', to, '--once'], {
        env: { TIDEMARK_KEY: key },
      })
      assert.equal(code, 0, stderr)
      assert.equal(exports, 2)
    } finally {
      relay.close()
    }
    assert.ok(readSqlite(to).some(({ title }) => title === 'Changed when its line had been read'))
    assert.match((await mirrored(key, to, '--verify')).stdout, /^equal: /m)
  })

  test('waits as long as the server asks where it asks too often', async () => {
    const { key } = await server.makeApplication({ entitlements, policy: { requests_per_second: 1, burst: 1 } })
    const { stderr, stdout } = await mirrored(key, join(folder, 'slow.sqlite'), '--verify')
    assert.match(stderr, /429 rate_limit_exceeded: .*; retrying in 1 s\n.*answers again/)
    assert.match(stdout, /^equal: /m)
  })

  test('refuses another application’s copy, a key that is not good, and a command that is not whole', async () => {
    const { key } = await server.makeApplication({ entitlements })
    const other = await mirror(key, join(folder, 'copy.sqlite'), '--once')
    assert.equal(other.code, 1)
    assert.match(
      other.stderr,
      /this copy belongs to application app_\w+, but the key belongs to app_\w+: use another copy/,
    )
    const wrong = await mirror('tmk_wrong', join(folder, 'never.sqlite'))
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /^tidemark: /)
    assert.doesNotMatch(wrong.stderr, /asking again| at /)
    const nowhere = await mirror(key, join(folder, 'copy.sqlite', 'below'))
    assert.deepEqual([nowhere.code, /^tidemark: the copy cannot be used: .*ENOTDIR/.test(nowhere.stderr)], [1, true])
    for (const [flags, words] of [
      [['--url', server.address, '--to', 'x.sqlite'], /no application key: set TIDEMARK_KEY/],
      [['--url', 'ftp://x', '--to', 'x.sqlite', '--key', 'k'], /--url must be an address/],
      [['--url', server.address, '--key', 'k'], /--to/],
    ] as [string[], RegExp][]) {
      const { code, stderr } = await tidemark(['mirror', ...flags])
      assert.equal(code, 2, stderr)
      assert.match(stderr, words)
    }
  })
})
