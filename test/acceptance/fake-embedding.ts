import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** How the endpoint treats requests from now on. */
export type Behaviour = 'answers' | 'hangs' | 'errors' | 'wrong dimensions' | 'not a number' | 'garbage' | 'half'

export const fakeDimensions = 64
const fakeModel = 'fake/bag-of-words'
/** The profile under which the model is registered. */
export const fakeProfile = 'fake-bag-of-words'

/** Texts with common words are near each other: each word counts in a dimension that follows from its letters. */
export function fakeVector(text: string, dimensions: number = fakeDimensions): number[] {
  const vector = new Array<number>(dimensions).fill(0)
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['']) {
    let hash = 2_166_136_261
    for (const character of word) hash = Math.imul(hash ^ character.codePointAt(0)!, 16_777_619)
    vector[(hash >>> 0) % dimensions]! += 1
  }
  return vector
}

/** An OpenAI-compatible embedding endpoint in this process that can be made to fail in many ways. */
export class FakeEmbedding {
  behaviour: Behaviour = 'answers'
  /** All texts that were ever requested. */
  texts: string[] = []
  /** The trace headers of its requests. */
  traceparents: (string | undefined)[] = []
  vectorOf: typeof fakeVector = fakeVector
  /** Requests with a matching text are answered 400, whatever else they contain. */
  refuses: RegExp | null = null
  /** Delays every answer by this time. */
  delayMs = 0
  #server: Server | null = null
  #port = 0
  #hanging = new Set<ServerResponse>()

  async start(): Promise<this> {
    const server = createServer((request, response) => {
      let sent = ''
      request.setEncoding('utf8').on('data', (text) => {
        sent += text
      })
      request.on('end', () => {
        this.traceparents.push(request.headers.traceparent as string | undefined)
        this.#answer(sent, response)
      })
    })
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    server.unref()
    this.#port = (server.address() as AddressInfo).port
    return this
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/v1`
  }

  get env(): Record<string, string> {
    return { TIDEMARK_EMBEDDING_URL: this.url, TIDEMARK_EMBEDDING_MODEL: fakeModel }
  }

  /** Connections are refused until it is started again, on the same port. */
  async stop(): Promise<void> {
    const server = this.#server
    if (server === null) return
    this.#server = null
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  /** Works again. Hanging requests are broken, as by a restart of the endpoint. */
  recover(): void {
    this.behaviour = 'answers'
    for (const response of this.#hanging) response.destroy()
    this.#hanging.clear()
  }

  #answer(sent: string, response: ServerResponse): void {
    // Not from a server under test: somebody waits for another program that had or will have this port.
    if (sent === '') {
      response.writeHead(400).end()
      return
    }
    const input = (JSON.parse(sent) as { input: string[] }).input
    this.texts.push(...input)
    if (this.behaviour === 'hangs') {
      this.#hanging.add(response)
      return
    }
    const body = this.#bodyFor(input)
    const isRefused = input.some((text) => this.refuses?.test(text))
    const send = (): void => {
      const status = this.behaviour === 'errors' ? 500 : isRefused ? 400 : 200
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(body)
    }
    if (this.delayMs === 0) send()
    else setTimeout(send, this.delayMs).unref()
  }

  #bodyFor(input: readonly string[]): string {
    const dimensions = this.behaviour === 'wrong dimensions' ? fakeDimensions + 1 : fakeDimensions
    const data = input.map((text, index) => ({ index, embedding: this.vectorOf(text, dimensions) }))
    switch (this.behaviour) {
      case 'not a number':
        return JSON.stringify({ data: data.map((one) => ({ ...one, embedding: one.embedding.map(() => null) })) })
      case 'garbage':
        return '<html>502 Bad Gateway</html>'
      case 'half':
        return JSON.stringify({ data }).slice(0, 40)
      case 'errors':
        return '{"error": {"message": "out of memory"}}'
      default:
        return JSON.stringify({ data })
    }
  }
}
