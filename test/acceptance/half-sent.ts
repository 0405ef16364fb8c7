import { connect, type Socket } from 'node:net'
import { parseRaw } from './expect-error.ts'
import type { Answer, TestServer } from './harness.ts'

/** A request on its own connection. The test sends the body when it likes, or never. */
export class HalfSent {
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>
  /** Everything received so far. */
  received = ''
  #socket: Socket

  constructor(server: TestServer, head: string) {
    const { hostname, port } = new URL(server.address)
    const socket = connect(Number(port), hostname)
    this.#socket = socket
    socket.setEncoding('utf8').on('data', (text) => {
      this.received += text
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => socket.on('close', () => resolve()))
    socket.write(head)
  }

  /** Waits until the connection is closed, and returns the answer. */
  async answer(): Promise<Answer> {
    await this.closed
    return parseRaw(this.received)
  }

  static post(server: TestServer, path: string, credential: string, headers: string, begun: string): HalfSent {
    return new HalfSent(
      server,
      `POST ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${credential}\r\n${headers}\r\n${begun}`,
    )
  }

  static get(server: TestServer, path: string, credential: string): HalfSent {
    return new HalfSent(server, `GET ${path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${credential}\r\n\r\n`)
  }

  send(text: string | Uint8Array): void {
    this.#socket.write(text)
  }

  /** The client sends no more, and still listens. */
  end(): void {
    this.#socket.end()
  }

  /** The client closes the connection. */
  abandon(): void {
    this.#socket.destroy()
  }
}
