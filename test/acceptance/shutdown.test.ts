import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { startServer, type TestServer } from './harness.ts'
import { HeldRequest } from './held-request.ts'
import { until } from './until.ts'

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
    await until('new connections are refused', 5000, () => refusesConnections(server))
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
  assert.match((unclosed[0]!.err as { message: string }).message, /not closed within 100 ms/)
  assert.match(server.stderr, /^tidemark: these parts did not close as they should: requests; the log says why$/m)

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
  await until('new connections are refused', 5000, () => refusesConnections(server))
  server.signal('SIGTERM')
  assert.equal(await server.ended(), 130)
})
