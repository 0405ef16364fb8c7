import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { CollectorClient, type Task } from './collector-client.ts'

test('an unavailable server is reported once for each outage', async (t) => {
  const answers = [503, 429, 200, 200, 503, 200]
  const server = createServer((_, response) => {
    response.writeHead(answers.shift()!, { 'content-type': 'application/json' }).end('{"results":[]}')
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const said: string[] = []
  const client = new CollectorClient({
    server: address,
    key: 'tml_x',
    aborted: new AbortController().signal,
    retryForMs: 60_000,
    say: (line) => said.push(line),
  })
  for (let sent = 0; sent < 3; sent++) assert.deepEqual(await client.sendDocuments([]), [])
  const line = `${address} does not answer (HTTP 503): trying again for 60 s`
  assert.deepEqual(said, [line, line])
  assert.deepEqual(answers, [])
})

test('a task whose ID would lead to another address is not worked on', async (t) => {
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(request.url!)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const client = new CollectorClient({
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: 'tml_x',
    aborted: new AbortController().signal,
    retryForMs: 60_000,
    say: () => {},
  })
  const task = { task_id: 'task_1', query: 'x', max_items: 1, lease_id: 'a&b' } as Task
  await client.complete(task, 'succeeded')
  for (const task_id of ['..', '.', '', '\ud800']) {
    await assert.rejects(client.complete({ ...task, task_id }, 'succeeded'), /the server gave a task the ID/)
  }
  assert.deepEqual(requested, ['/collector/v1/tasks/task_1/complete?lease_id=a%26b'])
})
