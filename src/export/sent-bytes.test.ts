import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { SentBytes } from './sent-bytes.ts'

const mixedSizes = Array.from({ length: 120 }, (_, i) =>
  i % 3 === 0 ? 300_000 + i : i % 3 === 1 ? 40 + i : 20_000 * (i % 7),
)
const piece = (i: number): Uint8Array => new Uint8Array(mixedSizes[i]! + 1).fill(i)

/** What a client got that takes some, does something else, and takes on; and how many pieces had been given back by then. */
async function sent(give: (bytes: Uint8Array) => void): Promise<{ digest: string; given: number }> {
  let given = 0
  const pieces = async function* (bytes: SentBytes) {
    yield 'a line\n'
    for (const i of mixedSizes.keys()) {
      yield bytes.begin(piece(i))
      if (i % 10 === 0) yield 'a line between\n'
    }
  }
  const server = createServer((_request: IncomingMessage, response: ServerResponse) => {
    const bytes = new SentBytes(
      () => answer.readableLength + response.writableLength,
      (one) => {
        given++
        give(one)
      },
    )
    const answer = Readable.from(pieces(bytes), { objectMode: false })
    answer.pipe(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const [response] = await once(get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }), 'response')
    const taken: Buffer[] = []
    let count = 0
    for await (const one of response) {
      taken.push(one)
      if (++count % 5 === 0) for (let i = 0; i < 20; i++) await turn()
    }
    return { digest: hash('sha256', Buffer.concat(taken)), given }
  } finally {
    server.close()
  }
}

test('bytes are given back when they have left, and not before: a client that is slow gets all of them', async () => {
  const untouched = await sent(() => {})
  const overwritten = await sent((bytes) => bytes.fill(0xff))
  assert.equal(overwritten.digest, untouched.digest)
  assert.ok(overwritten.given > mixedSizes.length / 2, `${overwritten.given} of ${mixedSizes.length}`)
})

test('what is given back is gone at once', () => {
  let waiting = 0
  const bytes = new SentBytes(() => waiting)
  const first = bytes.begin(new Uint8Array(1000))
  waiting = 1
  const second = bytes.begin(new Uint8Array(1000))
  assert.deepEqual([first.length, second.length], [1000, 1000])
  waiting = 1000
  bytes.begin(new Uint8Array(1000))
  assert.deepEqual([first.length, second.length], [0, 1000])
})
