import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly query: string
  readonly documents: readonly string[]
}

/** A rerank endpoint in this process, whose answers a test can replace. */
export class FakeReranker {
  readonly asked: Asked[] = []
  answer: (asked: Asked, response: ServerResponse) => void = byText
  readonly #server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text) => {
      body += text
    })
    request.on('end', () => {
      const asked = JSON.parse(body) as Asked
      this.asked.push(asked)
      this.answer(asked, response)
    })
  })

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#server.unref()
    return this
  }

  get env(): Record<string, string> {
    return { TIDEMARK_RERANK_URL: `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}` }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** The score follows from every letter of the text, and from nothing else. */
export function byText({ documents }: Asked, response: ServerResponse): void {
  const scoreOf = (text: string): number => {
    let hash = 2_166_136_261
    for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 16_777_619)
    return (hash >>> 0) / 2 ** 32
  }
  const results = documents.map((text, index) => ({ index, relevance_score: scoreOf(text) }))
  response.end(JSON.stringify({ results }))
}

/** The reverse order. */
export function lastIsBest({ documents }: Asked, response: ServerResponse): void {
  const results = documents.map((_, index) => ({ index, relevance_score: (index + 1) / 10 }))
  response.end(JSON.stringify({ results }))
}
