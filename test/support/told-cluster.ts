import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Told {
  readonly status?: number
  readonly body: object
}

/** A server that takes the place of a cluster's node, and says what it is told to; it keeps what it was asked for. */
export class ToldCluster {
  readonly asked: string[] = []
  readonly #server: Server

  constructor(says: (path: string, body: string) => Told | Promise<Told>) {
    this.#server = createServer(async (request, response) => {
      let body = ''
      for await (const part of request) body += part
      this.asked.push(body)
      const told = await says(request.url!, body)
      response.writeHead(told.status ?? 200, { 'content-type': 'application/json' }).end(JSON.stringify(told.body))
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

/** What a search that all shards have answered begins with. */
export const whole = { timed_out: false, _shards: { failed: 0 } }
export const mappingOf = (profiles: Readonly<Record<string, number>>): Told => ({
  body: { 'tidemark-1': { mappings: { _meta: { profiles } } } },
})
