import assert from 'node:assert/strict'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { documentFields } from '../support/document-fields.ts'
import { until } from '../support/until.ts'
import { documentOf, feedAnswer, feedPage, type Sent, send, sendOne } from './content.ts'
import { startServer, type TestServer } from './harness.ts'

type Parameters = Readonly<Record<string, string | number>>
type Line = Record<string, ReturnType<typeof JSON.parse>> & { readonly type: string }

const allTypes = [
  'document.erased',
  ...['document.updated', 'document.created', 'document.version.created', 'document.metrics.updated'],
].join()

/** The lines of everything that an application may read. Together with the feed they are complete. */
describe('the export', () => {
  let server: TestServer
  let collector: string
  let all: string
  const count = 2300
  const histories = Array.from({ length: 6 }, (_, i) => `history${i}`)

  after(() => server.stop())
  before(async () => {
    server = await startServer()
    for (const dataset of ['news', 'blogs', 'small', 'empty', ...histories]) await server.makeDataset(dataset)
    collector = (await server.makeCollector()).key
    all = await keyFor([{ datasets: ['news', 'blogs'] }])
    const body = 'Long enough that no connection takes all of it at once. '.repeat(90)
    for (let from = 0; from < count; from += 500) {
      const batch = Array.from({ length: Math.min(500, count - from) }, (_, i) =>
        documentOf(`d${from + i}`, { dataset_id: i % 3 === 0 ? 'blogs' : 'news', body }),
      )
      await send(server, collector, batch)
    }
    for (const language of ['en', 'de', null]) {
      const first = documentOf(`in ${language}`, {
        dataset_id: 'small',
        language,
        author: { external_author_id: 'u1', extra: { city: 'Hull' } },
        tags: ['t'],
        score: 3,
      })
      await send(server, collector, [first, { ...first, title: 'Second', language: language === 'en' ? 'de' : 'en' }])
    }
  })

  const keyFor = async (entitlements: readonly object[], policy: object = {}): Promise<string> =>
    (await server.makeApplication({ entitlements, policy })).key

  const pathOf = (parameters: Parameters): string =>
    `/v1/export?${new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]))}`
  const ask = (key: string, parameters: Parameters = {}) => server.consumer(key, 'GET', pathOf(parameters))

  async function exported(key: string, parameters: Parameters = {}): Promise<Line[]> {
    const answer = await ask(key, parameters)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
    assert.ok(answer.text.endsWith('\n'))
    return linesOf(answer.text)
  }
  const linesOf = (text: string): Line[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const idsOf = (lines: readonly Line[]): string[] => lines.flatMap(({ document }) => document?.id ?? [])

  test('a start, every document in the order of ids with checkpoints between them, and an end', async () => {
    const lines = await exported(all)
    const ids = idsOf(lines)
    assert.equal(new Set(ids).size, count)
    assert.deepEqual(ids, ids.toSorted())
    assert.deepEqual(
      lines.flatMap(({ type }, i) => (type === 'document' ? [] : [[i, type]])),
      [
        [0, 'start'],
        [1001, 'checkpoint'],
        [2002, 'checkpoint'],
        [count + 3, 'end'],
      ],
    )
    assert.equal(lines.at(-1)!.documents, count)
    const news = await exported(all, { dataset_id: 'news' })
    assert.deepEqual(idsOf(news), idsOf(lines.filter(({ document }) => document?.dataset_id === 'news')))
    assert.deepEqual(idsOf(await exported(all, { source_platform: 'rss', dataset_id: 'news' })), idsOf(news))
  })

  test('goes on from any checkpoint, in pieces of any size, and leads to the same place in the feed', async () => {
    const since = (tags: readonly string[]) =>
      sendOne(server, collector, documentOf('since', { dataset_id: 'blogs', tags }))
    await since([])
    const whole = await exported(all, { dataset_id: 'blogs' })
    const feed = { event_type: allTypes, dataset_id: 'blogs' }
    for (const limit of [300, 5000]) {
      const ids: string[] = []
      let lines = await exported(all, { dataset_id: 'blogs', limit })
      const start = lines[0]!.changes_cursor
      while (lines.at(-1)!.type === 'checkpoint') {
        assert.equal(idsOf(lines).length, limit)
        ids.push(...idsOf(lines))
        lines = await exported(all, { dataset_id: 'blogs', limit, cursor: lines.at(-1)!.cursor })
      }
      ids.push(...idsOf(lines))
      assert.deepEqual(ids, idsOf(whole))
      assert.equal(lines.at(-1)!.documents, ids.length)
      await since([String(limit)])
      for (const cursor of [start, lines[0]!.changes_cursor, lines.at(-1)!.changes_cursor]) {
        const { items } = await feedPage(server, all, { ...feed, cursor })
        assert.deepEqual(
          items.map((one) => `${one.event_type} ${one.changed_fields}`),
          ['document.updated tags,observed_at'],
        )
      }
    }
  })

  test('is what batch-get and content say of each document, with all versions where they are asked for', async () => {
    const { key, applicationId } = await server.makeApplication({ entitlements: [{ datasets: ['small'] }] })
    const entitle = (entitlements: readonly object[]) =>
      server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, { entitlements })
    const ids = idsOf(await exported(key))
    assert.equal(ids.length, 3)
    const cases: readonly (readonly object[])[] = [
      [{ datasets: ['small'] }],
      [{ datasets: ['small'], languages: ['de'] }],
      [{ datasets: ['small'], fields: ['title', 'metrics'] }],
      [
        { datasets: ['small'], languages: ['en'], fields: ['body', 'author'] },
        { datasets: ['small'], languages: ['de'], fields: ['title', 'facts'] },
      ],
    ]
    for (const entitlements of cases) {
      await entitle(entitlements)
      const read = async (path: string) => {
        const answer = await server.consumer(key, 'GET', path)
        return answer.status === 200 ? answer.body : null
      }
      const { documents } = (await server.consumer(key, 'POST', '/v1/documents/batch-get', { document_ids: ids })).body
      const expected: object[] = []
      for (const id of ids) {
        const { content: _, ...document } = documents.find((one: { id: string }) => one.id === id) ?? {}
        if (document.id !== undefined) {
          expected.push({ type: 'document', document, content: await read(`/v1/documents/${id}/content`) })
        }
        for (const version of ((await read(`/v1/documents/${id}/versions`))?.versions ?? []).toReversed()) {
          if (version.is_current) continue
          const content = await read(`/v1/documents/${id}/content?version_id=${version.version_id}`)
          if (content !== null) expected.push({ type: 'version', content })
        }
      }
      const lines = (await exported(key, { versions: 'all' })).slice(1, -1)
      assert.deepEqual(lines, expected, JSON.stringify(entitlements))
      const current = (await exported(key)).slice(1, -1)
      assert.deepEqual(
        current,
        lines.filter(({ type }) => type === 'document'),
      )
      // In pieces, the earlier versions of a document may come in the next piece.
      const pieces: Line[] = []
      for (let cursor = ''; ; ) {
        const piece = await exported(key, { versions: 'all', limit: 1, ...(cursor === '' ? {} : { cursor }) })
        pieces.push(...piece.slice(1, -1))
        if (piece.at(-1)!.type === 'end') break
        cursor = piece.at(-1)!.cursor
      }
      assert.deepEqual(pieces, lines)
    }
  })

  test('as Parquet: a file for each page, a row for each line, and the cursors in its headers', async () => {
    type Row = Record<string, unknown>
    const page = async (key: string, parameters: Parameters) => {
      const headers = { authorization: `Bearer ${key}`, accept: 'application/vnd.apache.parquet, */*;q=0.1' }
      const answer = await fetch(new URL(pathOf(parameters), server.address), { headers })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers.get('content-type'), 'application/vnd.apache.parquet')
      const rows: Row[] = await parquetReadObjects({ file: await answer.arrayBuffer(), compressors })
      const [next, changes] = ['tidemark-next-cursor', 'tidemark-changes-cursor'].map((name) =>
        answer.headers.get(name),
      )
      return { rows, next: next ?? null, changes: changes! }
    }
    const timed = (text: string | null | undefined) => (text ? new Date(text) : null)
    const cellOf = (kind: string, value: unknown) => {
      if (kind === 'time') return timed(value as string | null | undefined)
      if (kind === 'texts') return value ?? []
      return kind === 'object' && value ? JSON.stringify(value) : (value ?? null)
    }
    const rowOf = ({ type, document, content }: Line): Row => ({
      type,
      ...Object.fromEntries(documentFields.map(({ name, kind }) => [name, cellOf(kind, document?.[name])])),
      id: document?.id ?? content.document_id,
      ...Object.fromEntries(['title', 'body', 'language'].map((name) => [`version_${name}`, content?.[name] ?? null])),
      version_id: content?.version_id ?? null,
      version_published_at: timed(content?.published_at),
      version_created_at: timed(content?.created_at),
    })

    const small = await keyFor([{ datasets: ['small'] }])
    const bodiless = await keyFor([{ datasets: ['small'], fields: ['title'] }])
    for (const key of [small, bodiless]) {
      for (const versions of ['current', 'all']) {
        const lines = (await exported(key, { versions })).slice(1, -1)
        const { rows, next, changes } = await page(key, { versions })
        assert.deepEqual(rows, lines.map(rowOf))
        assert.equal(next, null)
        assert.deepEqual((await feedPage(server, key, { event_type: allTypes, cursor: changes })).items, [])
      }
    }
    const ids: unknown[] = []
    for (let cursor: string | null = null; ; ) {
      const { rows, next } = await page(all, {
        dataset_id: 'blogs',
        limit: 500,
        ...(cursor === null ? {} : { cursor }),
      })
      ids.push(...rows.map(({ id }) => id))
      if (next === null) break
      assert.equal(rows.length, 500)
      cursor = next
    }
    assert.deepEqual(ids, idsOf(await exported(all, { dataset_id: 'blogs' })))
    assert.deepEqual((await page(await keyFor([{ datasets: ['empty'] }]), {})).rows, [])
    const headers = { authorization: `Bearer ${all}`, accept: 'application/vnd.apache.parquet' }
    assert.equal((await server.call('GET', '/v1/export?limit=10001', { headers })).status, 400)
    const [file, lines] = ['application/vnd.apache.parquet', 'application/x-ndjson']
    const cases: [accept: string, type: string][] = [
      [`${file}, ${lines}`, file],
      [`${lines};q=0.5, ${file};q=0.6`, file],
      [`${file};q=0.1, ${lines}`, lines],
      [`${file};q=0, */*`, lines],
      ['*/*', lines],
    ]
    for (const [accept, type] of cases) {
      const answer = await server.call('GET', '/v1/export?limit=1', { headers: { ...headers, accept } })
      assert.deepEqual([answer.status, answer.headers.get('content-type')?.split(';')[0]], [200, type], accept)
    }
  })

  test('the account says from when on there is something, and how far back the feed goes', async () => {
    const times = async (key: string) => {
      const { body } = await server.consumer(key, 'GET', '/v1/account')
      return [body.earliest_ingested_at, body.latest_ingested_at, body.feed_retained_from]
    }
    const created = (await exported(all, { dataset_id: 'blogs' })).flatMap(({ document }) => document?.created_at ?? [])
    const [earliest, latest] = [created.toSorted()[0], created.toSorted().at(-1)]
    assert.deepEqual(await times(await keyFor([{ datasets: ['blogs'] }])), [earliest, latest, earliest])
    const none = [null, null, null]
    assert.deepEqual(await times(await keyFor([{ datasets: ['blogs'], platforms: ['nowhere'] }])), none)
    assert.deepEqual(await times(await keyFor([])), none)
    // Documents that it may not read move nothing, whether by language or by publication time.
    const within = { published_from: '2001-01-01T00:00:00Z', published_to: '2001-02-01T00:00:00Z' }
    const narrow = [
      await keyFor([{ datasets: ['blogs'], languages: ['is'] }]),
      await keyFor([{ datasets: ['blogs'], ...within }]),
    ]
    for (const key of narrow) assert.deepEqual(await times(key), none)
    const only = documentOf('only', { dataset_id: 'blogs', language: 'is', published_at: '2001-01-15T00:00:00Z' })
    const { body: own } = await server.consumer(
      all,
      'GET',
      `/v1/documents/${(await sendOne(server, collector, only)).document_id}`,
    )
    const other = documentOf('other', { dataset_id: 'blogs', language: 'en', published_at: '2001-03-01T00:00:00Z' })
    await sendOne(server, collector, other)
    for (const key of narrow) {
      await until('its times are known', async () => (await times(key))[0] !== null)
      assert.deepEqual(await times(key), [own.created_at, own.created_at, own.created_at])
    }
    const late = (await sendOne(server, collector, documentOf('late', { dataset_id: 'blogs' }))).document_id
    const [, newest] = await times(await keyFor([{ datasets: ['blogs', 'small'] }]))
    const { body } = await server.consumer(all, 'GET', `/v1/documents/${late}`)
    assert.equal(newest, body.created_at)
  })

  test('its cursors are bound to the application and the filters; bad requests are 400, what is not entitled 403', async () => {
    const { cursor } = (await exported(all, { dataset_id: 'news,blogs', limit: 1 })).at(-1)!
    assert.equal(idsOf(await exported(all, { dataset_id: 'blogs,news', limit: 3, cursor })).length, 3)
    const stranger = await keyFor([{ datasets: ['news', 'blogs'] }])
    const refused: [string, Parameters, number, string][] = [
      [all, { cursor }, 400, 'invalid_cursor'],
      [all, { cursor, dataset_id: 'news' }, 400, 'invalid_cursor'],
      [all, { cursor, dataset_id: 'news,blogs', versions: 'all' }, 400, 'invalid_cursor'],
      [stranger, { cursor, dataset_id: 'news,blogs' }, 400, 'invalid_cursor'],
      [all, { cursor: 'x' }, 400, 'invalid_cursor'],
      [all, { limit: 0 }, 400, 'invalid_document_query'],
      [all, { versions: 'some' }, 400, 'invalid_document_query'],
      [all, { dataset_id: 'news,,blogs' }, 400, 'invalid_document_query'],
      [all, { event_type: 'document.created' }, 400, 'invalid_document_query'],
      [all, { dataset_id: 'small' }, 403, 'entitlement_denied'],
      [await keyFor([]), {}, 403, 'entitlement_denied'],
      [collector, {}, 401, 'unauthorized'],
    ]
    for (const [key, parameters, status, code] of refused) {
      const answer = await ask(key, parameters)
      assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(parameters))
    }
    // The feed cursor is for the same filters, in any order.
    const { changes_cursor } = (await exported(all, { dataset_id: 'news,blogs', limit: 1 }))[0]!
    const feed = { event_type: allTypes, cursor: changes_cursor }
    assert.equal((await feedAnswer(server, all, { ...feed, dataset_id: 'blogs,news' })).status, 200)
    for (const other of [{}, { dataset_id: 'news' }, { dataset_id: 'news,blogs', source_platform: 'rss' }]) {
      assert.equal((await feedAnswer(server, all, { ...feed, ...other })).status, 400)
    }
  })

  test('a unit of the daily quota is taken by each answer', async () => {
    const key = await keyFor([{ datasets: ['small'] }], { daily_quotas: { export: 2 } })
    assert.equal((await server.consumer(key, 'HEAD', '/v1/export?dataset_id=nowhere')).status, 403)
    const statuses = [(await server.consumer(key, 'HEAD', '/v1/export')).status]
    for (let i = 0; i < 2; i++) statuses.push((await ask(key)).status)
    assert.deepEqual(statuses, [200, 200, 429])
    const { usage } = (await server.consumer(key, 'GET', '/v1/account')).body
    assert.equal(usage.operations['export.read'], 2)
  })

  /** A response that is not read until the test reads it. */
  async function held(key: string): Promise<IncomingMessage> {
    const request = httpRequest(new URL(pathOf({}), server.address), { headers: { authorization: `Bearer ${key}` } })
    request.on('error', () => {})
    request.end()
    return new Promise((resolve, reject) => request.once('response', resolve).once('close', reject))
  }
  async function rest(answer: IncomingMessage): Promise<Line[]> {
    let text = ''
    for await (const piece of answer.setEncoding('utf8')) text += piece
    return linesOf(text)
  }

  test('who loses entitlements or the key on the way gets nothing of it any more, and is told', async () => {
    const { key, applicationId, keyId } = await server.makeApplication({
      entitlements: [{ datasets: ['news', 'blogs'] }],
    })
    const narrowed = await held(key)
    await server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, {
      entitlements: [{ datasets: ['news'] }],
    })
    const lines = await rest(narrowed)
    // Only the lines that were already read arrive, followed by an error line, because the rest may no longer be
    // readable.
    assert.ok(idsOf(lines).length < count / 2)
    assert.deepEqual([lines.at(-1)!.type, lines.at(-1)!.code], ['error', 'cursor_expired'])

    const anew = await exported(key, { limit: 10 })
    const { cursor } = anew.at(-1)!
    assert.equal((await ask(key, { cursor, limit: 1 })).status, 200)
    // The same entitlements again are no change; more are one.
    const put = (...datasets: string[]) =>
      server.mustAdmin('PUT', `/admin/v1/applications/${applicationId}/entitlements`, {
        entitlements: [{ datasets }],
      })
    await put('news')
    assert.equal((await ask(key, { cursor, limit: 1 })).status, 200)
    await put('news', 'blogs')
    const old = await ask(key, { cursor, limit: 1 })
    assert.deepEqual([old.status, old.body.code, old.body.details[0].path], [410, 'cursor_expired', 'cursor'])

    const revoked = await held(key)
    await server.mustAdmin('POST', `/admin/v1/keys/${keyId}/revoke`)
    const { type, code, request_id } = (await rest(revoked)).at(-1)!
    assert.deepEqual([type, code], ['error', 'unauthorized'])
    assert.equal(request_id, revoked.headers['x-request-id'])
  })

  test('a client that goes away holds nothing', async () => {
    const inFlight = async (): Promise<number> =>
      Number(/^tidemark_requests_in_flight (\d+)$/m.exec((await server.admin('GET', '/metrics')).text)![1])
    const answers = await Promise.all(Array.from({ length: 5 }, () => held(all)))
    assert.equal(await inFlight(), 5)
    for (const answer of answers) answer.destroy()
    await until('their places are free', async () => (await inFlight()) === 0)
    assert.equal(idsOf(await exported(all, { limit: 10 })).length, 10)
    assert.deepEqual(
      server.logs.filter(({ warning }) => warning !== undefined),
      [],
    )
  })

  /**
   * The promise of the export, against a plain model: the last sent state of each document. Writers continue while the
   * export is read in pieces, and documents become readable and unreadable by their language.
   */
  test('with the feed behind it, it is everything, whatever is written meanwhile', async () => {
    const key = await keyFor([{ datasets: histories, languages: ['en'] }])
    const names = ['a', 'b', 'c', 'd', 'e', 'f']
    const document = fc.record({
      external_id: fc.constantFrom(...names),
      title: fc.constantFrom('T1', 'T2'),
      language: fc.constantFrom('en', 'en', 'de'),
      status: fc.constantFrom('active', 'unavailable'),
      tags: fc.constantFrom(['x'], ['x', 'y'], []),
      score: fc.constantFrom(1, 2),
    })
    const batches = fc.array(fc.array(document, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 })
    let run = 0
    const history = async (before: Sent[][], meanwhile: Sent[][], after: Sent[][], limit: number): Promise<void> => {
      const dataset_id = histories[run++]!
      const model = new Map<string, Sent>()
      const write = async (some: Sent[][]): Promise<void> => {
        for (const batch of some) {
          const sent = batch.map((one) => documentOf(String(one.external_id), { ...one, dataset_id }))
          await send(server, collector, sent)
          for (const one of sent) model.set(String(one.external_id), one)
        }
      }
      const copy = new Map<string, Line>()
      const takeAll = async (): Promise<string> => {
        for (let cursor: string | null = null; ; ) {
          const lines = await exported(key, { dataset_id, limit, ...(cursor === null ? {} : { cursor }) })
          for (const line of lines) if (line.type === 'document') copy.set(line.document.id, line)
          const last = lines.at(-1)!
          if (last.type === 'end') return last.changes_cursor
          cursor = last.cursor
        }
      }
      await write(before)
      const [changes] = await Promise.all([takeAll(), write(meanwhile)])
      await write(after)
      for (let cursor = changes; ; ) {
        const page = await feedPage(server, key, { event_type: allTypes, dataset_id, limit: 7, cursor })
        if (page.items.length === 0) break
        const document_ids = [...new Set(page.items.map((one) => one.document_id))]
        const { body } = await server.consumer(key, 'POST', '/v1/documents/batch-get', { document_ids })
        for (const id of body.missing) copy.delete(id)
        for (const { content, ...read } of body.documents)
          copy.set(read.id, { type: 'document', document: read, content })
        cursor = page.next_cursor
      }
      const told = [...copy.values()].map(({ document: one, content }) => ({
        external_id: one.external_id,
        title: one.title,
        body: content.body,
        language: one.language,
        status: one.status,
        tags: one.tags,
        score: one.score,
      }))
      const expected = [...model.values()]
        .filter(({ language }) => language === 'en')
        .map(({ dataset_id: _, source_platform: __, ...one }) => one)
      const byName = (some: Sent[]) => some.toSorted((a, b) => (String(a.external_id) < String(b.external_id) ? -1 : 1))
      assert.deepEqual(byName(told), byName(expected))
    }
    await fc.assert(fc.asyncProperty(batches, batches, batches, fc.integer({ min: 1, max: 4 }), history), {
      numRuns: histories.length,
      endOnFailure: true,
    })
  })
})
