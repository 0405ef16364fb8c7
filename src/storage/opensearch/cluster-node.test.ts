import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { until } from '../../../test/support/until.ts'
import { ClusterNode } from './cluster-node.ts'

const servers: Server[] = []
const sockets: Socket[] = []
after(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
})

/** A node that records its connections. `answer` handles each part that arrives. */
async function nodeWith(answer: (socket: Socket, part: string) => void) {
  const connections: Socket[] = []
  const server = createServer((socket) => {
    connections.push(socket)
    sockets.push(socket)
    socket.on('data', (part) => answer(socket, part.toString()))
    socket.on('error', () => {})
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { node: await ClusterNode.open(address, null), address, connections }
}

const send = (node: ClusterNode, path = '/') =>
  node.send({ method: 'POST', path, body: '{"q":"ü"}', contentType: 'application/json' })
const answered = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

test('connections are reused, each by one request at a time', async () => {
  const parts: string[] = []
  const { node, connections } = await nodeWith((socket, part) => {
    parts.push(part)
    socket.write(answered)
  })
  for (let i = 0; i < 20; i++) assert.equal((await send(node).answered).text, '{}')
  // A second connection is possible if the first has just answered.
  assert.ok(connections.length <= 2, `${connections.length} connections`)
  assert.match(parts[0]!, /^POST \/ HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/)
  assert.match(parts[0]!, /content-type: application\/json\r\ncontent-length: 10\r\n\r\n\{"q":"ü"\}$/)
  await Promise.all(Array.from({ length: 5 }, () => send(node).answered))
  assert.ok(connections.length >= 5, `${connections.length} connections`)
})

test('a connection that the node closed, or on which it sent an unexpected response, is not reused', async () => {
  const { node, connections } = await nodeWith((socket) => socket.write(answered))
  await send(node).answered
  connections[0]!.end()
  await until('it is closed', async () => connections[0]!.destroyed)
  await send(node).answered
  connections[1]!.write('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n')
  await until('it is closed', async () => connections[1]!.destroyed)
  assert.equal((await send(node).answered).status, 200)
  assert.equal(connections.length, 3)
})

test('a connection that closes within a response rejects the request, and the next request uses another', async () => {
  let rest = ''
  const { node, connections } = await nodeWith((socket) => {
    socket.write(answered.slice(0, -1))
    if (rest === '') socket.end()
    else socket.write(rest)
  })
  await assert.rejects(send(node).answered, /closed/)
  rest = '}'
  assert.equal((await send(node).answered).text, '{}')
  assert.equal(connections.length, 2)
})

test('aborting a finished request does not disturb the next one on the connection', async () => {
  const waiting: Socket[] = []
  const { node } = await nodeWith((socket, part) => {
    if (part.includes('/slow')) waiting.push(socket)
    else socket.write(answered)
  })
  const first = send(node)
  await first.answered
  const second = send(node, '/slow')
  await until('it is there', async () => waiting.length === 1)
  first.abort()
  waiting[0]!.write(answered)
  assert.equal((await second.answered).status, 200)
  const third = send(node, '/slow')
  third.abort()
  await assert.rejects(third.answered)
})

test('a request that is aborted before it has a connection is not sent', async () => {
  let sent = ''
  const { node } = await nodeWith((socket, part) => {
    sent += part
    socket.write(answered)
  })
  const first = send(node, '/aborted')
  first.abort()
  await assert.rejects(first.answered, /aborted/)
  assert.equal((await send(node, '/next').answered).status, 200)
  assert.doesNotMatch(sent, /aborted/)
})

test('the address may have a path, and every request has the credentials', async () => {
  const parts: string[] = []
  const { address } = await nodeWith((socket, part) => {
    parts.push(part)
    socket.write(answered)
  })
  const host = new URL(address).host
  await send(await ClusterNode.open(`http://me:hu%20sh@${host}/search/`, null), '/_search?a=b').answered
  await send(await ClusterNode.open(`http://${host}`, 'a2V5')).answered
  await send(await ClusterNode.open(`http://me:100%sure@${host}`, null)).answered
  assert.match(parts[0]!, /^POST \/search\/_search\?a=b HTTP/)
  assert.match(parts[0]!, new RegExp(`authorization: Basic ${Buffer.from('me:hu sh').toString('base64')}\\r`))
  assert.match(parts[1]!, /authorization: ApiKey a2V5\r/)
  assert.match(parts[2]!, new RegExp(`authorization: Basic ${Buffer.from('me:100%sure').toString('base64')}\\r`))
})

test('line breaks in a path or key are rejected', async () => {
  const { node, address } = await nodeWith((socket) => socket.write(answered))
  await assert.rejects(send(node, '/a\r\nx: y').answered)
  const keyed = await ClusterNode.open(address, 'secret\r\nx: y')
  await assert.rejects(send(keyed).answered, ({ message }: Error) => !message.includes('secret'))
})
