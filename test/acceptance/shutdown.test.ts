import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { HalfSent } from './half-sent.ts'
import { startServer, type TestServer } from './harness.ts'
import { HeldRequest } from './held-request.ts'

function refusesConnections(server: TestServer): Promise<boolean> {
  const { hostname, port } = new URL(server.address)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test(`${signal}: new connections are refused, the request under way ends well, exit code 0`, async () => {
    const server = await startServer()
    await server.call('GET', '/healthz')
    const held = await HeldRequest.start(server, 'held')
    server.signal(signal)
    await until('new connections are refused', () => refusesConnections(server))
    const answer = await held.finish()
    assert.deepEqual(answer, { status: 201, connection: 'close' })
    assert.equal(await server.ended(), 0)
    assert.ok(
      server.logs.some((line) => line.operation === 'admin.datasets.put' && line.status === 201),
      'the log is complete',
    )

    await server.start()
    const { datasets } = await server.mustAdmin('GET', '/admin/v1/datasets')
    assert.deepEqual(
      datasets.map((one: { dataset_id: string }) => one.dataset_id),
      ['held'],
    )
    assert.equal(await server.stop(), 0)
  })
}

interface Loop {
  readonly answered: number
  /** Whether the last answer asked the client to close the connection. */
  readonly toldToClose: boolean
  readonly fault: string | null
}

/** A client that sends one request after the other on one connection, until it must close it. */
async function requestLoop(server: TestServer, key: string, started: () => void): Promise<Loop> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let answered = 0
  for (;;) {
    const { fault, connection } = await new Promise<{ fault: string | null; connection: string | undefined }>(
      (resolve) => {
        const sent = request(new URL('/v1/account', server.address), {
          agent,
          headers: { authorization: `Bearer ${key}` },
        })
        sent.once('error', (error) => resolve({ fault: error.message, connection: undefined }))
        sent.once('response', (response) => {
          const { connection } = response.headers
          const fault = response.statusCode === 200 ? null : `status ${response.statusCode}`
          response.resume().once('close', () => resolve({ fault, connection }))
        })
        sent.end()
      },
    )
    if (fault !== null) return { answered, toldToClose: false, fault }
    answered++
    if (answered === 3) started()
    if (connection === 'close') return { answered, toldToClose: true, fault: null }
  }
}

test('no client that goes on sending on the connection it has is met by a reset: each is told to close it, by an answer', async () => {
  const server = await startServer({ env: { TIDEMARK_SHUTDOWN_DRAIN_MS: '2000' } })
  const { key } = await server.makeApplication()
  let started = 0
  const loops = Array.from({ length: 60 }, () => requestLoop(server, key, () => started++))
  await until('all are under way', async () => started === 60)
  server.signal('SIGTERM')
  const ends = await Promise.all(loops)
  assert.deepEqual(
    ends.filter(({ toldToClose }) => !toldToClose),
    [],
  )
  assert.equal(await server.ended(), 0)
})

test('while it drains a server is not ready and still answers; connections that nobody uses end after that', async () => {
  const server = await startServer({ env: { TIDEMARK_SHUTDOWN_DRAIN_MS: '3000' } })
  const idle = new HalfSent(server, '')
  const { key } = await server.makeApplication()
  server.signal('SIGTERM')
  await until('it is not ready', async () => {
    const { status, headers } = await server.call('GET', '/readyz')
    return status === 503 && headers.get('retry-after') === '1'
  })
  const late = await server.consumer(key, 'GET', '/v1/account')
  assert.equal(late.status, 200)
  assert.equal(late.headers.get('connection'), 'close')
  await idle.closed
  assert.equal(await server.ended(), 0)
})

test('a request that does not end in time is cut off; all the rest closes in order, and the log names what did not', async () => {
  const server = await startServer({ env: { TIDEMARK_SHUTDOWN_TIMEOUT_MS: '100' } })
  await server.makeDataset('kept')
  const held = await HeldRequest.start(server, 'held')
  server.signal('SIGTERM')
  assert.equal(await server.ended(), 1)
  await assert.rejects(held.finish(), 'its connection is closed')
  const unclosed = server.logs.filter((line) => line.part !== undefined)
  assert.deepEqual(
    unclosed.map(({ level, part }) => ({ level, part })),
    [{ level: 50, part: 'requests' }],
  )
  assert.match((unclosed[0]!.err as { message: string }).message, /did not close within 100 ms/)
  assert.match(server.stderr, /^tidemark: these parts failed to close: requests; the log says why$/m)

  await server.start()
  const { datasets } = await server.mustAdmin('GET', '/admin/v1/datasets')
  assert.deepEqual(
    datasets.map((one: { dataset_id: string }) => one.dataset_id),
    ['kept'],
  )
  assert.equal(await server.stop(), 0)
})

test('a second signal ends at once, whatever is under way', async () => {
  const server = await startServer({ env: { TIDEMARK_SHUTDOWN_TIMEOUT_MS: '3600000' } })
  await HeldRequest.start(server, 'held')
  server.signal('SIGTERM')
  await until('new connections are refused', () => refusesConnections(server))
  server.signal('SIGTERM')
  assert.equal(await server.ended(), 130)
})
