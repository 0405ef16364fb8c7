import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface FakeAnswer {
  readonly status?: number
  readonly body: object
}

/** A fake cluster node. It sends the responses that a test sets and records the requests. */
export class FakeCluster {
  readonly requests: string[] = []
  readonly #server: Server

  constructor(answerOf: (path: string, body: string) => FakeAnswer | Promise<FakeAnswer>) {
    this.#server = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      this.requests.push(body)
      const answer = await answerOf(request.url!, body)
      response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
    })
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** The fields of a search response to which all shards have contributed. */
export const completeResponse = { timed_out: false, _shards: { failed: 0 } }
export const mappingOf = (profiles: Readonly<Record<string, number>>): FakeAnswer => ({
  body: { 'tidemark-1': { mappings: { _meta: { profiles } } } },
})
