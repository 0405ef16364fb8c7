import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { assertFires, noPromtool } from '../support/alerts.ts'
import { MemoryDisk, skippedWithoutMount } from '../support/memory-disk.ts'
import { readScrape, type Scrape } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { documentOf, OpenRequest, sendLines } from './content.ts'
import { expectError } from './expect-error.ts'
import { type Answer, freshFolder, noVectors, startServer, type TestServer, tidemark } from './harness.ts'

const disk = MemoryDisk.mount(64)

suite('a full disk', { skip: disk === null && skippedWithoutMount }, () => {
  const dataDir = join(disk?.folder ?? '', 'data')
  let server: TestServer
  let collector: string
  let reader: { key: string; keyId: string; applicationId: string }
  const revocable: { key: string; keyId: string }[] = []
  let sent = 0

  before(async () => {
    mkdirSync(dataDir)
    server = await startServer({
      dataDir,
      env: noVectors,
    })
    await server.makeDataset('news')
    collector = (await server.makeCollector()).key
    reader = await server.makeApplication({
      entitlements: [{ datasets: ['news'] }],
      policy: { daily_quotas: { search: 5 }, analysis_enabled: true, live: { enabled: true } },
    })
    for (let i = 0; i < 15; i++)
      revocable.push(await server.makeApplication({ entitlements: [{ datasets: ['news'] }] }))
    const answer = await put()
    assert.equal(answer.status, 200, answer.text)
    await until('it can be found', async () => (await search('keyword')).body.total === 1)
  })
  after(async () => {
    await server.stop()
    disk?.remove()
  })

  /** So large that free space in an allocated page or log does not hold many of them. */
  const large = (): object => documentOf(`d-${++sent}`, { title: 'Buoyword', body: 'tide '.repeat(40_000) })
  const put = () => server.collector(collector, 'POST', '/collector/v1/documents', { documents: [large()] })
  const search = (mode: string) => server.consumer(reader.key, 'POST', `/v1/search/${mode}`, { query: 'buoyword' })

  /** Writes until a write is refused. */
  async function refused(write: () => Promise<Answer>): Promise<Answer> {
    for (let i = 0; i < 500; i++) {
      const answer = await write()
      if (answer.status >= 300) return answer
    }
    return assert.fail('the disk never got full')
  }

  async function expectFull(answer: Answer): Promise<void> {
    await expectError(server, answer, 503, 'storage_full')
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    assert.match(answer.body.message, /disk is full/)
  }

  const ready = () => server.call('GET', '/readyz')
  const admin = (i: number) =>
    server.admin('PUT', `/admin/v1/datasets/more-${i}`, { name: 'x', description: 'y'.repeat(2000) })

  test('before: ready, with room', async () => {
    const { status, body } = await ready()
    assert.equal(status, 200)
    assert.match(body.checks.disk.detail, /MiB free/)
  })

  test('writes are 503 storage_full with Retry-After, on every surface', async () => {
    disk!.fill()
    await expectFull(await refused(put))
    let i = 0
    await expectFull(await refused(() => admin(i++)))
    const run = {
      analysis_type: 'knn_graph',
      input_scope: { dataset_ids: ['news'] },
      embedding_profile_id: 'none',
      parameters: {},
    }
    const runs = await refused(() => server.consumer(reader.key, 'POST', '/v1/analysis/runs', run))
    if (runs.status !== 429) await expectFull(runs)
  })

  test('a stream that begins on it is 503 too, plain or compressed', async () => {
    const lines = () => Array.from({ length: 40 }, () => `${JSON.stringify(large())}\n`).join('')
    await expectFull(await sendLines(server, collector, lines()))
    const packed = await server.call('POST', '/collector/v1/documents', {
      headers: {
        authorization: `Bearer ${collector}`,
        'content-type': 'application/x-ndjson',
        'content-encoding': 'gzip',
      },
      body: gzipSync(lines()),
    })
    await expectFull(packed)
    const about = () => server.logs.filter(({ reqId }) => reqId === packed.headers.get('x-request-id'))
    await until('the log has it', async () => about().some(({ msg }) => msg === 'request'))
    assert.deepEqual(
      about().map(({ msg, status, code }) => [msg, status ?? code]),
      [
        ['request failed', 'storage_full'],
        ['request', 503],
      ],
    )
  })

  test('where it comes in the middle of a stream each later line says so, and the log has it once', async () => {
    disk!.makeRoom()
    const stream = new OpenRequest(server, collector)
    await stream.write(`${JSON.stringify(documentOf('before-it'))}\n`)
    await stream.results(1)
    disk!.fill()
    await stream.write(Array.from({ length: 200 }, () => `${JSON.stringify(large())}\n`).join(''))
    stream.end()
    await stream.ended
    assert.equal(stream.status, 200)
    assert.equal(stream.parsed[0]!.outcome, 'created')
    const errors = stream.parsed.flatMap(({ error }) => error ?? [])
    assert.ok(errors.length > 0)
    for (const { code, message } of errors) {
      assert.equal(code, 'not_stored')
      assert.match(message, /disk is full/)
    }
    const about = () => server.logs.filter(({ reqId }) => reqId === stream.headers.get('x-request-id'))
    await until('the log has it', async () => about().some(({ msg }) => msg === 'request'))
    assert.equal(about().filter(({ warning }) => warning === 'not_stored').length, 1)
  })

  test('keys can be revoked, which is 200 and on disk; one after the other', async () => {
    for (const [i, { key, keyId }] of revocable.slice(0, 5).entries()) {
      assert.equal((await server.consumer(key, 'GET', '/v1/account')).status, 200)
      const answer = await server.admin('POST', `/admin/v1/keys/${keyId}/revoke`)
      assert.equal(answer.status, 200, `${i}: ${answer.text}`)
      await expectError(server, await server.consumer(key, 'GET', '/v1/account'), 401, 'unauthorized')
      // Other writes may use the space that this left.
      await refused(put)
    }
  })

  test('keys can be revoked while collectors go on trying to write: the reserve is for nobody else', async () => {
    let isOver = false
    const writeOn = async (writer: number) => {
      for (let i = 0; !isOver; i++) {
        const documents = [documentOf(`small-${writer}-${i}`, { body: 'tide '.repeat(4000) })]
        await server.collector(collector, 'POST', '/collector/v1/documents', { documents })
      }
    }
    const writers = [1, 2, 3, 4].map(writeOn)
    try {
      const revoke = ({ keyId }: { keyId: string }) => server.admin('POST', `/admin/v1/keys/${keyId}/revoke`)
      const answers = []
      for (const one of revocable.slice(5, 10)) answers.push(await revoke(one))
      answers.push(...(await Promise.all(revocable.slice(10, 14).map(revoke))))
      for (const { status, text } of answers) assert.equal(status, 200, text)
    } finally {
      isOver = true
      await Promise.all(writers)
    }
    for (const { key } of revocable.slice(5, 14)) {
      await expectError(server, await server.consumer(key, 'GET', '/v1/account'), 401, 'unauthorized')
    }
  })

  test('the reserve is made anew with the first write that there is room for', async () => {
    const answer = await server.admin('POST', `/admin/v1/keys/${revocable[14]!.keyId}/revoke`)
    assert.equal(answer.status, 200, answer.text)
    disk!.makeRoom()
    assert.equal((await put()).status, 200)
    assert.equal(statSync(join(dataDir, 'reserve')).size, 2 ** 20)
    disk!.fill()
    await expectFull(await refused(put))
  })

  test('reads go on: search, catalog, feed, account; daily quotas still count, and hold', async () => {
    const browse = await server.consumer(reader.key, 'GET', '/v1/documents/browse')
    assert.equal(browse.status, 200, browse.text)
    assert.ok(browse.body.documents.length > 0)
    const feed = await server.consumer(reader.key, 'GET', '/v1/changes')
    assert.equal(feed.status, 200, feed.text)
    assert.equal((await search('keyword')).status, 200)
    const limited = () => server.consumer(reader.key, 'POST', '/v1/search', { query: 'buoyword' })
    const answers = await Promise.all(Array.from({ length: 8 }, limited))
    assert.deepEqual(
      answers.map(({ status }) => status).sort(),
      [200, 200, 200, 200, 200, 429, 429, 429],
      answers.map(({ text }) => text).join('\n'),
    )
    const live = await server.call('POST', '/v1/search/history', {
      headers: { authorization: `Bearer ${reader.key}` },
      body: { query: 'buoyword' },
    })
    assert.equal(live.status, 200)
    const account = await server.consumer(reader.key, 'GET', '/v1/account')
    assert.equal(account.status, 200)
    assert.equal(account.body.usage.operations['search.default'], 5, account.text)
  })

  test('readiness says it plainly, and so does doctor', async () => {
    await until('the use of keys could not be written either', async () =>
      server.logs.some(({ job }) => job === 'usage'),
    )
    const { status, body } = await ready()
    assert.equal(status, 503)
    assert.deepEqual([body.checks.disk.ok, body.checks.store.ok, body.checks.serving.ok], [false, true, true])
    assert.match(body.checks.disk.detail, /^the disk is full: .* free, writes are refused, reads continue$/)
    const doctor = await server.tidemark(['doctor'])
    assert.equal(doctor.code, 1, doctor.stdout)
    assert.match(doctor.stdout, /FAIL +the disk .* is full: .*\n +do: free up space/)
    assert.doesNotMatch(doctor.stdout + doctor.stderr, /SQLITE|\n {4}at /)
  })

  test('alerts say so', { skip: noPromtool }, async () => {
    let shown: Scrape | null = null
    await until('the metrics show it', async () => {
      shown = readScrape((await server.admin('GET', '/metrics')).text)
      const free = shown.samples.get('tidemark_disk_free_bytes')
      return shown.samples.get('tidemark_store_lacks_room') === 1 && free !== undefined && free < 2 ** 20
    })
    const { types, samples } = shown!
    const empty = new Map([...samples]).set('tidemark_store_lacks_room', 0)
    const room = { types, samples: empty.set('tidemark_disk_free_bytes', samples.get('tidemark_disk_bytes')!) }
    await assertFires('TidemarkDiskIsFull', room, shown!)
    await assertFires('TidemarkDiskIsLow', room, shown!)
  })

  test('both say so when the reserve is used up', async () => {
    const used = /the reserve is used up: keys cannot be revoked/
    assert.doesNotMatch((await ready()).body.checks.disk.detail, used)
    truncateSync(join(dataDir, 'reserve'))
    disk!.fill()
    assert.match((await ready()).body.checks.disk.detail, used)
    assert.match((await server.tidemark(['doctor'])).stdout, used)
  })

  test('nothing of it was called a defect', async () => {
    const { text } = await server.admin('GET', '/metrics')
    assert.match(text, /^tidemark_errors_total\{code="internal"\} 0$/m)
    assert.doesNotMatch(text, /^tidemark_errors_total\{code="storage_full"\} 0$/m)
    assert.deepEqual(
      server.logs.filter(({ level }) => (level as number) >= 50),
      [],
    )
  })

  test('it recovers by itself when there is room: writes, the index, the use that was counted, readiness', async () => {
    disk!.makeRoom()
    const answer = await put()
    assert.equal(answer.status, 200, answer.text)
    assert.equal((await admin(1000)).status, 201)
    await until('it is ready', async () => (await ready()).status === 200)
    await server.collector(collector, 'POST', '/collector/v1/documents', {
      documents: [documentOf('after', { body: 'Lateword.' })],
    })
    await until('what was written since is found', async () => {
      const found = await server.consumer(reader.key, 'POST', '/v1/search/keyword', { query: 'lateword' })
      return found.body.total === 1
    })
    await until('the use is written', async () => {
      const { usage } = await server.mustAdmin('GET', '/admin/v1/usage')
      return usage.some(
        (one: Record<string, unknown>) => one.application_id === reader.applicationId && Object.values(one).includes(5),
      )
    })
    for (const { key } of revocable) {
      await expectError(server, await server.consumer(key, 'GET', '/v1/account'), 401, 'unauthorized')
    }
    const examined = await server.tidemark(['doctor'])
    // There is no embedding endpoint.
    assert.doesNotMatch(examined.stdout, /FAIL {2}(?!the embedding endpoint)/)
    assert.equal(await server.stop(), 0)
  })

  test('a start and a command on a full disk say it in a sentence, and destroy nothing', async () => {
    const before = readdirSync(dataDir).filter((name) => name.startsWith('search-'))
    disk!.fill()
    const started = await server.tidemark(['serve'])
    assert.equal(started.code, 1)
    assert.match(started.stderr, /^tidemark: the disk .*is full: free up space.*$/m)
    const file = join(freshFolder(), 'more.ndjson')
    writeFileSync(file, Array.from({ length: 40 }, () => `${JSON.stringify(large())}\n`).join(''))
    const imported = await tidemark(['import', file], { dataDir })
    assert.equal(imported.code, 1, imported.stdout)
    assert.match(imported.stderr, /disk .*is full/)
    disk!.makeRoom()
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => /^search-\d+\.sqlite$/.test(name)),
      before.filter((name) => name.endsWith('.sqlite')),
    )
    const again = await tidemark(['import', file], { dataDir })
    assert.equal(again.code, 0, again.stderr)
    await server.start()
    const found = await search('keyword')
    assert.equal(found.status, 200)
    assert.ok(found.body.total > 0)
    assert.doesNotMatch(server.stderr, /built anew/, 'the index is the one that was there')
    assert.equal(await server.stop(), 0)
  })
})
