import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { type DocumentField, sampledFields } from '../support/document-fields.ts'
import { documentsOf, eventsAfter, path, type Sent, send, sendOne, wholeFeed } from './content.ts'
import { sharedServer, type TestServer } from './harness.ts'

const news = 'batch-news'
const blogs = 'batch-blogs'
const documentOf = documentsOf(news)

/** JSON batches: outcomes, events, identity, and faults of single documents. */
describe('a batch of documents', () => {
  let server: TestServer
  let collector: string
  let reader: string

  before(async () => {
    server = await sharedServer()
    await server.makeDataset(news)
    await server.makeDataset(blogs)
    collector = (await server.makeCollector()).key
    reader = (await server.makeApplication({ entitlements: [{ datasets: [news, blogs] }] })).key
  })

  /** Sends a document. Returns its outcome and its events in the feed. */
  async function outcomeOf(document: Sent): Promise<{ outcome: string | undefined; events: string[] }> {
    const { cursor } = await wholeFeed(server, reader)
    const { outcome } = await sendOne(server, collector, document)
    const events = await eventsAfter(server, reader, cursor)
    return { outcome, events: events.map((one) => `${one.event_type} ${one.changed_fields.join(',')}`) }
  }

  const read = async (documentId: string | undefined) => {
    const answer = await server.consumer(reader, 'GET', `/v1/documents/${documentId}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }

  test('every outcome, with exactly its events', async () => {
    const first = documentOf('outcomes', { score: 1, metrics: { likes: 1 }, observed_at: '2026-01-01T00:00:00Z' })
    assert.deepEqual(await outcomeOf(first), {
      outcome: 'created',
      events: ['document.created title,body,observed_at,score,metrics'],
    })
    assert.deepEqual(await outcomeOf(first), { outcome: 'unchanged', events: [] })
    assert.deepEqual(await outcomeOf({ ...first, body: 'Another body' }), {
      outcome: 'version_created',
      events: ['document.version.created body'],
    })
    assert.deepEqual(await outcomeOf({ ...first, body: 'Another body', score: 2 }), {
      outcome: 'metrics_updated',
      events: ['document.metrics.updated score'],
    })
    assert.deepEqual(await outcomeOf({ ...first, body: 'Another body', score: 2, url: 'https://example.com/a' }), {
      outcome: 'updated',
      events: [],
    })
    assert.deepEqual(await outcomeOf({ ...first, title: 'New', body: 'Third', score: 3, metrics: { likes: 2 } }), {
      outcome: 'version_created',
      events: ['document.version.created title,body', 'document.metrics.updated score,metrics'],
    })
    assert.deepEqual(await outcomeOf({ ...first, title: 'New', body: 'Third', score: 3, metrics: { likes: 2 } }), {
      outcome: 'unchanged',
      events: [],
    })
  })

  test('an event tells ids, fields and times, and never text', async () => {
    const document = documentOf('shape', {
      published_at: '2026-02-01T10:00:00+02:00',
      observed_at: '2026-02-02T00:00:00Z',
      extra_payload: { secret: 'hush' },
    })
    const { cursor } = await wholeFeed(server, reader)
    const startedMs = Date.now()
    const { document_id, version_id } = await sendOne(server, collector, document)
    const [event, ...more] = await eventsAfter(server, reader, cursor)
    assert.deepEqual(more, [])
    const { sequence, event_id, ingested_at, ...rest } = event!
    assert.ok(Number.isSafeInteger(sequence) && sequence > 0)
    assert.match(event_id, /^evt_/)
    assert.ok(Date.parse(ingested_at) >= startedMs && Date.parse(ingested_at) <= Date.now())
    assert.deepEqual(rest, {
      schema_version: 1,
      event_type: 'document.created',
      dataset_id: news,
      source_platform: 'rss',
      document_id,
      version_id,
      changed_fields: ['title', 'body', 'published_at', 'observed_at'],
      occurred_at: '2026-02-01T08:00:00.000Z',
      observed_at: '2026-02-02T00:00:00.000Z',
    })
    const { cursor: after } = await wholeFeed(server, reader)
    await sendOne(server, collector, { ...document, score: 5 })
    const [metrics] = await eventsAfter(server, reader, after)
    assert.equal(metrics!.event_type, 'document.metrics.updated')
    assert.equal('version_id' in metrics!, false)
  })

  test('identity is dataset, platform and external id together', async () => {
    const same = documentOf('identity')
    const ids = new Set<string | undefined>()
    for (const document of [same, { ...same, dataset_id: blogs }, { ...same, source_platform: 'web' }]) {
      const result = await sendOne(server, collector, document)
      assert.equal(result.outcome, 'created')
      ids.add(result.document_id)
      const again = await sendOne(server, collector, { ...document, title: 'Other' })
      assert.equal(again.document_id, result.document_id)
      assert.notEqual(again.version_id, result.version_id)
    }
    assert.equal(ids.size, 3)
    for (const id of ids) assert.match(id!, /^doc_[0-9a-z]{26}$/)
  })

  test('the same document several times in one batch is one document, in the order of the batch', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const one = documentOf('repeated', { score: 1 })
    const results = await send(server, collector, [
      one,
      one,
      { ...one, score: 2 },
      { ...one, body: 'B', score: 2 },
      one,
    ])
    assert.deepEqual(
      results.map(({ index, outcome }) => `${index} ${outcome}`),
      ['0 created', '1 unchanged', '2 metrics_updated', '3 version_created', '4 version_created'],
    )
    assert.equal(new Set(results.map((result) => result.document_id)).size, 1)
    assert.equal(results[2]!.version_id, results[0]!.version_id)
    assert.deepEqual(
      (await eventsAfter(server, reader, cursor)).map((event) => event.event_type),
      [
        'document.created',
        'document.metrics.updated',
        'document.version.created',
        'document.version.created',
        'document.metrics.updated',
      ],
    )
    const document = await read(results[0]!.document_id)
    assert.equal(document.version_count, 3)
    assert.equal(document.score, 1)
    assert.equal(document.current_version_id, results[4]!.version_id)
  })

  test('a bad document fails alone, with the path of each field at fault', async () => {
    const bad: [Sent, string[]][] = [
      [{ external_id: undefined }, ['external_id']],
      [{ dataset_id: 5, source_platform: 'has,comma' }, ['dataset_id', 'source_platform']],
      [{ title: undefined, body: undefined }, ['title']],
      [{ title: '', body: '' }, ['title']],
      [{ title: null, body: null }, ['title']],
      [{ external_id: 'line\nbreak' }, ['external_id']],
      [{ language: 'english please' }, ['language']],
      [{ published_at: 'yesterday' }, ['published_at']],
      [{ published_at: '2026-02-30T00:00:00Z' }, ['published_at']],
      [{ score: 1.5 }, ['score']],
      [{ score: 2 ** 53 }, ['score']],
      [{ metrics: { likes: '12' } }, ['metrics.likes']],
      [{ metrics: { 'a\nb': 1 } }, ['metrics.a\nb']],
      [{ quality: 1.01 }, ['quality']],
      [{ status: 'deleted' }, ['status']],
      [{ tags: ['ok', ''] }, ['tags.1']],
      [{ tags: Array(201).fill('x') }, ['tags']],
      [{ facts: [{ kind: 'category', level: 'planet' }] }, ['facts.0.level']],
      [{ facts: [{ metadata: {} }] }, ['facts.0.kind']],
      [{ author: { nickname: 7 } }, ['author.nickname']],
      [{ author: { extra: { nested: { no: 1 } } } }, ['author.extra.nested']],
      [{ author: { shoe_size: 44 } }, ['author.shoe_size']],
      [{ extra_payload: [] }, ['extra_payload']],
      [{ document_id: 'doc_mine' }, ['document_id']],
      [{ created_at: '2020-01-01T00:00:00Z' }, ['created_at']],
      [{ title: 'x'.repeat(2001) }, ['title']],
    ]
    const documents = bad.flatMap(([fields], i) => [documentOf(`bad-${i}`, fields), documentOf(`good-${i}`)])
    const results = await send(server, collector, [...documents, 'text', null, 5, []])
    bad.forEach(([fields, paths], i) => {
      const { error, ...rest } = results[2 * i]!
      assert.deepEqual(rest, { index: 2 * i })
      assert.equal(error!.code, 'invalid_document')
      const found = new Set(error!.details!.map((detail) => detail.path))
      for (const one of paths) assert.ok(found.has(one), `${JSON.stringify(fields)}: ${[...found]} lacks ${one}`)
      assert.equal(results[2 * i + 1]!.outcome, 'created')
    })
    for (const result of results.slice(-4)) assert.equal(result.error!.code, 'invalid_document')
  })

  test('NUL and half of a surrogate pair: in texts U+FFFD stands for them, and it is the same document again', async () => {
    const odd = documentOf('odd', {
      url: 'https://example.com/\u0000\ud800',
      title: 'NUL \u0000 and half a pair \ud83d, a whole one \u{1f30a}',
      body: '\u0000',
      author: { external_author_id: 'u', nickname: 'n\u0000', biography: '\udfff', extra: { e: '\ud800', n: 1 } },
      facts: [
        { kind: 'note', metadata: { label_code: '\ud800', '\u0000': '\u0000' } },
        { kind: 'category', metadata: { label_code: 'x'.repeat(100_000) } },
        { kind: 'category', metadata: { label_code: 'sports' } },
      ],
      extra_payload: { '\ud800': '\u0000' },
    })
    const [created] = await send(server, collector, [odd])
    assert.equal(created!.outcome, 'created')
    assert.equal((await sendOne(server, collector, odd)).outcome, 'unchanged')
    const document = await read(created!.document_id)
    assert.equal(document.title, 'NUL \ufffd and half a pair \ufffd, a whole one \u{1f30a}')
    assert.equal(document.url, 'https://example.com/\ufffd\ufffd')
    assert.equal(document.author.nickname, 'n\ufffd')
    assert.equal(document.author.biography, '\ufffd')
    assert.equal(document.author.e, '\ufffd')
    assert.deepEqual(document.classifications, ['sports'])
  })

  test('NUL and half of a surrogate pair are refused in all that identifies or is compared, and the field is named', async () => {
    type Odd = [path: string, fields: (odd: string) => Sent]
    const ofKind = (kind: DocumentField['kind']) => sampledFields.filter((field) => field.kind === kind)
    const fields: Odd[] = [
      ['dataset_id', (odd) => ({ dataset_id: odd })],
      ['source_platform', (odd) => ({ source_platform: odd })],
      ['external_id', (odd) => ({ external_id: odd })],
      ...ofKind('code').map(({ name }): Odd => [name, (odd) => ({ [name]: odd })]),
      ...ofKind('texts').map(({ name }): Odd => [`${name}.1`, (odd) => ({ [name]: ['plain', odd] })]),
      ['tags.0', (odd) => ({ tags: [odd] })],
      ['author.external_author_id', (odd) => ({ author: { external_author_id: odd } })],
      ['author.extra.~', (odd) => ({ author: { extra: { [odd]: 'x' } } })],
      ['metrics.~', (odd) => ({ metrics: { [odd]: 1 } })],
      ['facts.0.kind', (odd) => ({ facts: [{ kind: odd }] })],
      ['facts.1.metadata.label_code', (odd) => ({ facts: [{ kind: 'note' }, category(odd)] })],
    ]
    const category = (code: string) => ({ kind: 'category', metadata: { label_code: code } })
    const odds = ['nul\u0000', 'half\ud800', '\udc00half', '\udc00\ud800']
    const documents = fields.flatMap(([path, make]) =>
      odds.map((odd) => ({ path: path.replace('~', odd), document: documentOf('id', make(odd)) })),
    )
    const results = await send(
      server,
      collector,
      documents.map(({ document }) => document),
    )
    for (const [i, { path, document }] of documents.entries()) {
      const { error } = results[i]!
      assert.equal(error?.code, 'invalid_document', JSON.stringify(document))
      assert.deepEqual(
        error.details!.map((detail) => detail.path),
        [path],
      )
    }
    // A complete surrogate pair is a normal character.
    const whole = documentOf('\u{1f30a}', { source_platform: '\u{1f30a}', tags: ['\u{1f30a}'] })
    assert.equal((await sendOne(server, collector, whole)).outcome, 'created')
  })

  test('names that objects treat specially are data like any other', async () => {
    const json = JSON.stringify(documentOf('proto')).slice(0, -1)
    const sent = `{"documents":[${json},"metrics":{"__proto__":1,"constructor":2},"author":{"extra":{"__proto__":"x"}},"extra_payload":{"__proto__":{"a":1}}},${json},"__proto__":{"a":1}}]}`
    for (const outcome of ['created', 'unchanged']) {
      const answer = await server.collector(collector, 'POST', path, sent)
      assert.equal(answer.body.results[0].outcome, outcome)
      assert.equal(answer.body.results[1].error.details[0].path, '__proto__')
    }
    const answer = await server.collector(collector, 'POST', path, sent)
    const { text } = await server.consumer(reader, 'GET', `/v1/documents/${answer.body.results[0].document_id}`)
    assert.match(text, /"metrics":\{[^}]*"__proto__":1/)
    assert.match(text, /"author":\{[^}]*"__proto__":"x"/)
  })

  test('nesting: deep free data is refused alone, deeper than any body may be the whole request', async () => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
    const document = (id: string, more: string): string => `${JSON.stringify(documentOf(id)).slice(0, -1)},${more}}`
    const body = `{"documents":[${document('deep-1', `"extra_payload":${nested(70)}`)},${document('deep-2', `"facts":[{"kind":"k","metadata":${nested(70)}}]`)},${document('deep-3', `"extra_payload":${nested(64)}`)}]}`
    const answer = await server.collector(collector, 'POST', path, body)
    assert.equal(answer.status, 200, answer.text)
    const [payload, fact, good] = answer.body.results
    assert.equal(payload.error.details[0].path, 'extra_payload')
    assert.equal(fact.error.details[0].path, 'facts.0.metadata')
    assert.equal(good.outcome, 'created')
    const abyss = `{"documents":[${document('deep-4', `"extra_payload":${nested(100_000)}`)}]}`
    const refused = await server.collector(collector, 'POST', path, abyss)
    assert.equal(refused.status, 400)
    assert.equal(refused.body.code, 'invalid_request')
  })

  test('an unknown dataset is an error of its document alone', async () => {
    const results = await send(server, collector, [
      documentOf('unknown-1', { dataset_id: 'nowhere' }),
      documentOf('unknown-2'),
    ])
    assert.equal(results[0]!.error!.code, 'unknown_dataset')
    assert.deepEqual(results[0]!.error!.details, [{ path: 'dataset_id', message: 'does not exist' }])
    assert.equal(results[1]!.outcome, 'created')
  })

  test('a dataset is known as soon as it is made', async () => {
    const document = documentOf('fresh', { dataset_id: 'fresh' })
    assert.equal((await sendOne(server, collector, document)).error!.code, 'unknown_dataset')
    await server.makeDataset('fresh')
    assert.equal((await sendOne(server, collector, document)).outcome, 'created')
  })

  test('a collector that is bound to datasets writes to no other', async () => {
    const { key } = await server.makeCollector({ datasets: [blogs] })
    const results = await send(server, key, [
      documentOf('bound-1'),
      documentOf('bound-2', { dataset_id: blogs }),
      documentOf('bound-3', { dataset_id: 'nowhere' }),
    ])
    assert.equal(results[0]!.error!.code, 'dataset_forbidden')
    assert.equal(results[0]!.error!.details![0]!.path, 'dataset_id')
    assert.equal(results[1]!.outcome, 'created')
    assert.equal(results[2]!.error!.code, 'dataset_forbidden')
  })

  test('500 documents are a batch, 501 and none are not', async () => {
    const documents = (count: number) => Array.from({ length: count }, (_, i) => documentOf(`batch-${i}`))
    const results = await send(server, collector, documents(500))
    assert.deepEqual(
      results.map((result) => result.index),
      Array.from({ length: 500 }, (_, i) => i),
    )
    const ids = results.map((result) => result.document_id!)
    assert.equal(new Set(ids).size, 500)
    // The order of ids and of events is the order of the batch.
    assert.deepEqual([...ids].sort(), ids)
    for (const body of [{ documents: documents(501) }, { documents: [] }, {}, { documents: {} }, [], null]) {
      const answer = await server.collector(collector, 'POST', path, body)
      assert.equal(answer.status, 400, JSON.stringify(body).slice(0, 50))
      assert.equal(answer.body.code, 'invalid_request')
    }
    const unknown = await server.collector(collector, 'POST', path, { documents: documents(1), dry_run: true })
    assert.equal(unknown.status, 400)
    assert.equal(unknown.body.details[0].path, 'dry_run')
  })

  test('bodies that are no batch: malformed, of another kind, too large', async () => {
    const post = (body: string, type?: string) =>
      server.call('POST', path, {
        headers: { authorization: `Bearer ${collector}`, ...(type === undefined ? {} : { 'content-type': type }) },
        body,
      })
    for (const body of ['{"documents":[', 'nonsense', '']) {
      const answer = await post(body, 'application/json')
      assert.equal(answer.status, 400, answer.text)
      assert.equal(answer.body.code, 'invalid_request')
    }
    for (const type of ['text/plain', 'application/xml', 'application/x-ndjsonp']) {
      const answer = await post('{}', type)
      assert.equal(answer.status, 415, answer.text)
      assert.equal(answer.body.code, 'unsupported_media_type')
    }
    // The length is announced but not sent: the answer comes before the body, and a client that keeps sending might
    // miss it.
    const length = 64 * 1024 * 1024 + 1
    const answer = await server.raw(
      `POST ${path} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${collector}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n{`,
    )
    assert.match(answer, /^HTTP\/1.1 413 /)
    assert.match(answer, /"code":"payload_too_large"/)
  })

  test('a body of many megabytes in one batch is taken', async () => {
    const documents = Array.from({ length: 12 }, (_, i) =>
      documentOf(`large-${i}`, { body: 'x'.repeat(1_500_000) + i }),
    )
    const results = await send(server, collector, documents)
    assert.deepEqual(new Set(results.map((result) => result.outcome)), new Set(['created']))
  })

  test('eight collectors that send the same document at once make one document and one event', async () => {
    const { cursor } = await wholeFeed(server, reader)
    const keys = await Promise.all(Array.from({ length: 8 }, async () => (await server.makeCollector()).key))
    for (let round = 0; round < 5; round++) {
      const document = documentOf(`race-${round}`, { score: round })
      const results = await Promise.all(keys.map((key) => sendOne(server, key, document)))
      assert.equal(new Set(results.map((result) => result.document_id)).size, 1)
      assert.deepEqual(results.map((result) => result.outcome).sort(), ['created', ...Array(7).fill('unchanged')])
    }
    assert.equal((await eventsAfter(server, reader, cursor)).length, 5)
  })

  test('credentials of other surfaces do not open it', async () => {
    for (const credential of [reader, 'tml_nonsense', '']) {
      const answer = await server.as(credential, 'POST', path, { documents: [documentOf('x')] })
      assert.equal(answer.status, 401)
      assert.equal(answer.body.code, 'unauthorized')
    }
  })
})
