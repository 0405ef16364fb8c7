import assert from 'node:assert/strict'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { assertFires, noPromtool } from '../support/alerts.ts'
import { freshDatabase } from '../support/fresh-database.ts'
import { readScrape, type Scrape } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { documentOf } from './content.ts'
import { expectError } from './expect-error.ts'
import { type Answer, startServer, TestServer } from './harness.ts'

/** A relay to a database that can be closed. */
class Way {
  readonly #to: URL
  readonly #sockets = new Set<Socket>()
  #server: Server | null = null
  #port = 0
  #swallows = false

  constructor(url: string) {
    this.#to = new URL(url)
  }

  async open(): Promise<void> {
    this.#swallows = false
    const server = createServer((from) => {
      if (this.#swallows) return void this.#sockets.add(from)
      const to = connect(Number(this.#to.port), this.#to.hostname)
      for (const [one, other] of [
        [from, to],
        [to, from],
      ] as const) {
        this.#sockets.add(one)
        one.pipe(other)
        one.on('error', () => other.destroy())
        one.on('close', () => this.#sockets.delete(one))
      }
    })
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as { port: number }).port
    this.#server = server
  }

  /** Accepts new connections and passes nothing on, like a host that is too busy to start a process for them. */
  swallowNew(): void {
    this.#swallows = true
  }

  /** Passes no more bytes on old or new connections, without closing them. */
  swallow(): void {
    this.#swallows = true
    for (const socket of this.#sockets) socket.unpipe().resume()
  }

  close(): void {
    this.#server?.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  get url(): string {
    const url = new URL(this.#to)
    url.host = `127.0.0.1:${this.#port}`
    return url.href
  }
}

let database: string
let way: Way
let server: TestServer

before(async () => {
  database = (await freshDatabase()).url
  way = new Way(database)
  await way.open()
  server = await startServer({ env: { TIDEMARK_DATABASE_URL: way.url } })
  await server.makeDataset('news')
})
after(async () => {
  await server.stop()
  way.close()
})

test('a database that is away, or silent, is 503 in the words of each area, logged with its cause; then all is well again', async () => {
  const { key } = await server.makeApplication({
    entitlements: [{ datasets: ['news'] }],
    policy: { analysis_enabled: true, live: { enabled: true } },
  })
  const { key: collector } = await server.makeCollector()
  const asked: [string, string, string, string, unknown?][] = [
    ['search_backend_unavailable', key, 'POST', '/v1/search', { query: 'tide' }],
    ['catalog_unavailable', key, 'GET', '/v1/documents/browse'],
    ['catalog_unavailable', key, 'POST', '/v1/documents/batch-get', { document_ids: ['doc_1'] }],
    ['catalog_unavailable', key, 'GET', '/v1/classifications?dataset_id=news'],
    ['changes_unavailable', key, 'GET', '/v1/changes'],
    ['live_query_unavailable', key, 'GET', '/v1/live-queries/lq_1'],
    ['store_unavailable', key, 'GET', '/v1/analysis/runs'],
    ['store_unavailable', key, 'GET', '/v1/account'],
    ['store_unavailable', collector, 'POST', '/collector/v1/documents', { documents: [documentOf('a')] }],
  ]
  const makeViewer = async (name: string): Promise<string> =>
    (await server.mustAdmin('POST', '/admin/v1/tokens', { name, role: 'viewer' })).admin_token
  const [viewer, unused] = [await makeViewer('Prometheus'), await makeViewer('unused')]
  assert.equal((await server.as(viewer, 'GET', '/metrics')).status, 200)
  const ask = () => Promise.all(asked.map(([, credential, ...request]) => server.as(credential, ...request)))
  // Each request runs beside another of its kind, because writes wait for each other and must not do so in vain.
  way.swallow()
  for (const answers of await Promise.all([ask(), ask()])) {
    for (const [i, answer] of answers.entries()) await expectError(server, answer, 503, asked[i]![0])
  }
  const notReady = async () => {
    const ready = await server.call('GET', '/readyz')
    assert.equal(ready.status, 503)
    const { store, index } = ready.body.checks
    assert.equal(store.ok, false)
    assert.match(store.detail, /the database (does not answer|cannot be used)/)
    assert.equal(index.ok, true, index.detail)
  }
  await notReady()
  way.close()
  const blind = await server.as(viewer, 'GET', '/metrics')
  assert.equal(blind.status, 200, blind.text)
  const { samples } = readScrape(blind.text)
  assert.equal(samples.get('tidemark_ready{check="store"}'), 0)
  assert.ok(samples.has('process_resident_memory_bytes'))
  for (const [credential, path] of [
    [unused, '/metrics'],
    [viewer, '/admin/v1/applications'],
  ] as const) {
    await expectError(server, await server.as(credential, 'GET', path), 503, 'store_unavailable')
  }
  const answers = await ask()
  for (const [i, answer] of answers.entries()) {
    const [code, , , path] = asked[i]!
    await expectError(server, answer, 503, code)
    assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/, path)
    const of = () => server.logs.filter(({ reqId }) => reqId === answer.headers.get('x-request-id'))
    await until('the log has the request', async () => of().some(({ msg }) => msg === 'request'))
    const told = of().filter(({ msg }) => msg !== 'request')
    assert.equal(told.length, 1, path)
    assert.match((told[0]!.err as { message: string }).message, /ECONNREFUSED|Connection terminated/, path)
  }
  await notReady()

  await way.open()
  await until('it is ready again', async () => (await server.call('GET', '/readyz')).status === 200)
  const again = await ask()
  assert.deepEqual(
    again.map(({ status }) => status),
    [200, 200, 200, 200, 200, 404, 200, 200, 200],
  )
})

test('a call that takes its time is not told that the database is silent while others are answered', async () => {
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  const client = new pg.Client(database)
  await client.connect()
  await client.query('begin; lock table classification in access exclusive mode')
  const slow = server.consumer(key, 'GET', '/v1/classifications?dataset_id=news')
  let hasEnded = false
  void slow.finally(() => {
    hasEnded = true
  })
  const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
  await until('it waits', async () => (await client.query(waits)).rowCount === 1)
  way.swallowNew()
  const since = performance.now()
  // Longer than it takes to notice that a database is silent.
  await until('others were answered for a while', async () => {
    await server.consumer(key, 'GET', '/v1/changes')
    return hasEnded || performance.now() - since > 4000
  })
  await client.query('rollback')
  await client.end()
  const { status, text } = await slow
  assert.equal(status, 200, text)
  way.close()
  await way.open()
  await until('it is ready', async () => (await server.call('GET', '/readyz')).status === 200)
})

test('calls that wait for a connection are told of, and an alert fires', { skip: noPromtool }, async () => {
  const shown = async () => readScrape((await server.admin('GET', '/metrics')).text)
  const policy = { max_in_flight: 1000 }
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }], policy })
  const before = await shown()
  const waiting = 'tidemark_database_connections{state="waiting"}'
  const client = new pg.Client(database)
  await client.connect()
  await client.query('begin')
  await client.query('lock table classification in access exclusive mode')
  const asked: Promise<Answer>[] = []
  try {
    let after: Scrape | null = null
    await until('calls wait', async () => {
      // A request that has waited for 5 s is refused with a time to retry.
      for (let i = 0; i < 15; i++) asked.push(server.consumer(key, 'GET', '/v1/classifications?dataset_id=news'))
      after = await shown()
      return (after.samples.get(waiting) ?? 0) > 0
    })
    await assertFires('TidemarkDatabaseConnectionsUsedUp', before, after!)
  } finally {
    await client.query('rollback')
    await client.end()
  }
  for (const { status, text } of await Promise.all(asked)) assert.ok([200, 429, 503].includes(status), text)
  await until('it is ready', async () => (await server.call('GET', '/readyz')).status === 200)
})

test('a log that PostgreSQL cannot archive is measured, and an alert fires; so are backups by other tools', {
  skip: noPromtool,
}, async () => {
  const shown = async () => readScrape((await server.admin('GET', '/metrics')).text)
  const untilShown = async (series: string, value: number): Promise<Scrape> => {
    let found: Scrape | null = null
    await until(`${series} is ${value}`, async () => {
      found = await shown()
      return found.samples.get(series) === value
    })
    return found!
  }
  const client = new pg.Client(database)
  await client.connect()
  const archiveBy = async (command: string): Promise<void> => {
    await client.query(`alter system set archive_command = '${command}'`)
    await client.query('select pg_reload_conf()')
    await client.query("select pg_logical_emit_message(false, 'tidemark', 'a record, so that a segment is closed')")
    await client.query('select pg_switch_wal()')
  }
  const failing = 'tidemark_database_archive_failing'
  try {
    const before = await untilShown(failing, 0)
    await archiveBy('false')
    await assertFires('TidemarkDatabaseArchivingFails', before, await untilShown(failing, 1))
  } finally {
    await archiveBy('true')
    await client.end()
  }

  assert.equal((await shown()).samples.get('tidemark_backup_failed'), undefined)
  for (const [args, failed] of [
    [[], 0],
    [['--failed'], 1],
    [[], 0],
  ] as const) {
    const recorded = await server.tidemark(['backup', 'record', ...args])
    assert.equal(recorded.code, 0, recorded.stderr)
    const { samples } = await untilShown('tidemark_backup_failed', failed)
    const age = samples.get('tidemark_backup_age_seconds')!
    assert.ok(age >= 0 && age < 600, String(age))
  }
})

test('what the database says of a row that it refused is not in the log: it would be a body', async () => {
  const { key } = await server.makeCollector()
  const client = new pg.Client(database)
  await client.connect()
  await client.query('alter table document_version add constraint refuses check (version_id is null) not valid')
  const documents = [documentOf('refused', { body: 'the secret words of a body' })]
  const answer = await server.collector(key, 'POST', '/collector/v1/documents', { documents })
  await client.query('alter table document_version drop constraint refuses')
  await client.end()
  await expectError(server, answer, 500, 'internal')
  await until('it is logged', async () => server.stderr.includes('violates check constraint'))
  assert.doesNotMatch(server.stderr, /secret words/)
})

test('a server that starts before its database says so once, waits for it, and serves; a wrong name is no reason to wait', async () => {
  const late = new Way(database)
  await late.open()
  late.close()
  const waiting = new TestServer({ env: { TIDEMARK_DATABASE_URL: late.url } })
  try {
    const started = waiting.start()
    await until('it says what it waits for', async () => waiting.stderr.includes('ECONNREFUSED'))
    await late.open()
    await started
    assert.equal((await waiting.call('GET', '/healthz')).status, 200)
    const told = waiting.logs.filter(({ job }) => job === 'open-store').map(({ level }) => level)
    assert.deepEqual(told, [40, 30])
  } finally {
    await waiting.stop()
    late.close()
  }

  const wrong = new URL(database)
  wrong.pathname = '/no_such_database'
  await assert.rejects(startServer({ env: { TIDEMARK_DATABASE_URL: wrong.href } }), /code 2 .*does not exist/s)
})
