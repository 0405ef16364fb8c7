import { connect, type Socket } from 'node:net'

/**
 * One keep-alive connection that costs little beside what it measures: a request is ready bytes, and of an answer only
 * the status and the length are read. (One on node:http takes more of the processor for a page of the feed than the
 * server does.)
 */
export class BareConnection {
  #socket: Socket
  #host: string
  #key: string
  #chunks: Buffer[] = []
  #missing = Number.NaN
  #answer: { resolve: (body: Buffer) => void; reject: (error: Error) => void } | null = null

  private constructor(socket: Socket, host: string, key: string) {
    this.#socket = socket
    this.#host = host
    this.#key = key
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('close', () => this.#answer?.reject(new Error('the server closed the connection')))
  }

  static open(address: string, key: string): Promise<BareConnection> {
    const { hostname, port, host } = new URL(address)
    return new Promise((resolve, reject) => {
      const socket = connect({ port: Number(port), host: hostname, noDelay: true }, () =>
        resolve(new BareConnection(socket, host, key)),
      )
      socket.once('error', reject)
    })
  }

  /** The body of the answer, which must be a 200. */
  get(path: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject }
      this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.#host}\r\nAuthorization: Bearer ${this.#key}\r\n\r\n`)
    })
  }

  close(): void {
    this.#answer = null
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    let rest = chunk
    if (this.#chunks.length === 0) {
      const headLength = chunk.indexOf('\r\n\r\n') + 4
      const head = chunk.toString('latin1', 0, headLength)
      const length = /^content-length: (\d+)/im.exec(head)
      if (!head.startsWith('HTTP/1.1 200') || length === null) {
        this.#answer?.reject(new Error(`not the answer that was measured: ${chunk.toString('latin1', 0, 500)}`))
        return
      }
      this.#missing = Number(length[1])
      rest = chunk.subarray(headLength)
    }
    this.#chunks.push(rest)
    this.#missing -= rest.length
    if (this.#missing > 0) return
    const body = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#answer?.resolve(body)
  }
}
