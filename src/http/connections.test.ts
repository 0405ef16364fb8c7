import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { silentMeasures } from '../platform/measures.ts'
import { Connections, type Exchange } from './connections.ts'

/** A server that starts an exchange for each request and never answers, and a connection to it. */
async function listening(t: { after(work: () => void): void }) {
  const server = createServer()
  const connections = new Connections(server, 10, silentMeasures)
  const started: { request: IncomingMessage; response: ServerResponse; exchange: Exchange }[] = []
  server.on('request', (request, response) => {
    started.push({ request, response, exchange: connections.begin(request, response) })
    server.emit('started')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => {
    socket.destroy()
    server.close()
  })
  const ask = async (times: number) => {
    const all = started.length + times
    socket.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(times))
    while (started.length < all) await once(server, 'started')
    return started.slice(-times)
  }
  return { connections, socket, ask }
}

const endOf = (exchange: Exchange): Promise<void> => new Promise((resolve) => exchange.onEnd(resolve))

test('an exchange ends when its answer is sent: each listener is called once, and a later one at once', async (t) => {
  const { connections, ask } = await listening(t)
  const [one] = await ask(1)
  const { request, response, exchange } = one!
  const called: string[] = []
  exchange.onEnd(() => called.push('first'))
  exchange.onEnd(() => called.push('second'))
  assert.deepEqual(connections.unanswered(request.socket), [response])
  response.end('answer')
  await endOf(exchange)
  exchange.end()
  exchange.onEnd(() => called.push('late'))
  assert.deepEqual(called, ['first', 'second', 'late'])
  assert.deepEqual(connections.unanswered(request.socket), [])
})

test('pipelined requests end with their connection', async (t) => {
  const { connections, socket, ask } = await listening(t)
  const started = await ask(3)
  const responses = started.map(({ response }) => response)
  assert.deepEqual(connections.unanswered(started[0]!.request.socket), responses)
  socket.destroy()
  await Promise.all(started.map(({ exchange }) => endOf(exchange)))
  // An exchange that begins on a closed connection has ended already.
  const { request, response } = started[0]!
  let hasEnded = false
  connections.begin(request, response).onEnd(() => {
    hasEnded = true
  })
  assert.ok(hasEnded)
})
