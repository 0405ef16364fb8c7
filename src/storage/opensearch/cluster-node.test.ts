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

/** A node that records the requests of each connection; `says` handles each part that arrives. */
async function nodeThat(says: (socket: Socket, part: string) => void) {
  const connections: Socket[] = []
  const server = createServer((socket) => {
    connections.push(socket)
    sockets.push(socket)
    socket.on('data', (part) => says(socket, part.toString()))
    socket.on('error', () => {})
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { node: await ClusterNode.open(address, null), address, connections }
}

const ask = (node: ClusterNode, path = '/') =>
  node.ask({ method: 'POST', path, body: '{"q":"ü"}', contentType: 'application/json' })
const answered = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

test('connections are used again, each by one request at a time', async () => {
  const parts: string[] = []
  const { node, connections } = await nodeThat((socket, part) => {
    parts.push(part)
    socket.write(answered)
  })
  for (let i = 0; i < 20; i++) assert.equal((await ask(node).answered).text, '{}')
  // A second connection is possible if the first has just answered.
  assert.ok(connections.length <= 2, `${connections.length} connections`)
  assert.match(parts[0]!, /^POST \/ HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/)
  assert.match(parts[0]!, /content-type: application\/json\r\ncontent-length: 10\r\n\r\n\{"q":"ü"\}$/)
  await Promise.all(Array.from({ length: 5 }, () => ask(node).answered))
  assert.ok(connections.length >= 5, `${connections.length} connections`)
})

test('one that the node has closed, or says more on than it was asked, is not used again', async () => {
  const { node, connections } = await nodeThat((socket) => socket.write(answered))
  await ask(node).answered
  connections[0]!.end()
  await until('it is closed', async () => connections[0]!.destroyed)
  await ask(node).answered
  connections[1]!.write('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n')
  await until('it is closed', async () => connections[1]!.destroyed)
  assert.equal((await ask(node).answered).status, 200)
  assert.equal(connections.length, 3)
})

test('a connection that is lost before the end of an answer is no answer, and the next request has another', async () => {
  let rest = ''
  const { node, connections } = await nodeThat((socket) => {
    socket.write(answered.slice(0, -1))
    if (rest === '') socket.end()
    else socket.write(rest)
  })
  await assert.rejects(ask(node).answered, /closed/)
  rest = '}'
  assert.equal((await ask(node).answered).text, '{}')
  assert.equal(connections.length, 2)
})

test('who gives up late does not disturb the next one on the connection', async () => {
  const waiting: Socket[] = []
  const { node } = await nodeThat((socket, part) => {
    if (part.includes('/slow')) waiting.push(socket)
    else socket.write(answered)
  })
  const first = ask(node)
  await first.answered
  const second = ask(node, '/slow')
  await until('it is there', async () => waiting.length === 1)
  first.abort()
  waiting[0]!.write(answered)
  assert.equal((await second.answered).status, 200)
  const third = ask(node, '/slow')
  third.abort()
  await assert.rejects(third.answered)
})

test('nothing is sent for one that was given up before it was connected', async () => {
  let sent = ''
  const { node } = await nodeThat((socket, part) => {
    sent += part
    socket.write(answered)
  })
  const first = ask(node, '/given-up')
  first.abort()
  await assert.rejects(first.answered, /given up/)
  assert.equal((await ask(node, '/next').answered).status, 200)
  assert.doesNotMatch(sent, /given-up/)
})

test('a node may stand in a folder of its address, and its credentials go with every request', async () => {
  const parts: string[] = []
  const { address } = await nodeThat((socket, part) => {
    parts.push(part)
    socket.write(answered)
  })
  const host = new URL(address).host
  await ask(await ClusterNode.open(`http://me:hu%20sh@${host}/search/`, null), '/_search?a=b').answered
  await ask(await ClusterNode.open(`http://${host}`, 'a2V5')).answered
  await ask(await ClusterNode.open(`http://me:100%sure@${host}`, null)).answered
  assert.match(parts[0]!, /^POST \/search\/_search\?a=b HTTP/)
  assert.match(parts[0]!, new RegExp(`authorization: Basic ${Buffer.from('me:hu sh').toString('base64')}\\r`))
  assert.match(parts[1]!, /authorization: ApiKey a2V5\r/)
  assert.match(parts[2]!, new RegExp(`authorization: Basic ${Buffer.from('me:100%sure').toString('base64')}\\r`))
})

test('nothing that is sent can begin a line of its own', async () => {
  const { node, address } = await nodeThat((socket) => socket.write(answered))
  await assert.rejects(ask(node, '/a\r\nx: y').answered)
  const keyed = await ClusterNode.open(address, 'secret\r\nx: y')
  await assert.rejects(ask(keyed).answered, ({ message }: Error) => !message.includes('secret'))
})
