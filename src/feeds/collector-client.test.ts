import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { CollectorClient } from './collector-client.ts'

test('a server that is waited for is told of, once for each time that it is away', async (t) => {
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
    patienceMs: 60_000,
    say: (line) => said.push(line),
  })
  for (let sent = 0; sent < 3; sent++) assert.deepEqual(await client.sendDocuments([]), [])
  const line = `${address} does not answer (HTTP 503): trying again for 60 s`
  assert.deepEqual(said, [line, line])
  assert.deepEqual(answers, [])
})
