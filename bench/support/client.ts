import { connect, type Socket } from 'node:net'

export interface Sent {
  readonly status: number
  readonly text: string
}

export function parsed({ status, text }: Sent): ReturnType<typeof JSON.parse> {
  if (status >= 300) throw new Error(`answered ${status}: ${text}`)
  return JSON.parse(text)
}

/**
 * A client that takes little time itself: plain connections, one for each request in flight, which are kept open. A
 * client on node:http is slower.
 */
export class Client {
  readonly #idle: Connection[] = []
  readonly address: URL
  readonly credential: string

  constructor(address: string, credential: string) {
    this.address = new URL(address)
    this.credential = credential
  }

  /** Returns the parsed answer. Throws for any status but 2xx. */
  async call(method: string, path: string, body?: unknown): Promise<ReturnType<typeof JSON.parse>> {
    return parsed(await this.send(method, path, body === undefined ? undefined : JSON.stringify(body)))
  }

  async send(method: string, path: string, body = ''): Promise<Sent> {
    const { hostname, port, host } = this.address
    let connection = this.#idle.pop()
    // The server closes a connection that was idle for long.
    while (connection?.isClosed) connection = this.#idle.pop()
    connection ??= new Connection(connect(Number(port), hostname))
    const type = body === '' ? '' : 'content-type: application/json\r\n'
    const length = `content-length: ${Buffer.byteLength(body)}\r\n`
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${this.credential}\r\n`
    const sent = await connection.exchange(`${head}${type}${length}\r\n${body}`)
    this.#idle.push(connection)
    return sent
  }

  close(): void {
    for (const connection of this.#idle) connection.close()
  }
}

/** Sends one request at a time. Answers must have a content-length, as all answers of Tidemark do. */
class Connection {
  isClosed = false
  readonly #socket: Socket
  #parts: Buffer[] = []
  #missing = 0
  #status = 0
  #settle: { readonly resolve: (sent: Sent) => void; readonly reject: (error: Error) => void } | null = null

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true)
    socket.on('data', (part: Buffer) => this.#take(part))
    socket.on('error', (error) => this.#settle?.reject(error))
    socket.on('close', () => {
      this.isClosed = true
      this.#settle?.reject(new Error('the server closed the connection'))
    })
  }

  exchange(request: string): Promise<Sent> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(part: Buffer): void {
    if (this.#status !== 0) this.#add(part)
    else {
      const head = Buffer.concat([...this.#parts, part])
      const end = head.indexOf('\r\n\r\n')
      this.#parts = end < 0 ? [head] : []
      if (end < 0) return
      const text = head.toString('latin1', 0, end)
      this.#status = Number(text.slice(9, 12))
      this.#missing = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      this.#add(head.subarray(end + 4))
    }
  }

  #add(part: Buffer): void {
    this.#parts.push(part)
    this.#missing -= part.length
    if (this.#missing > 0) return
    const sent = { status: this.#status, text: Buffer.concat(this.#parts).toString() }
    this.#parts = []
    this.#status = 0
    this.#settle?.resolve(sent)
    this.#settle = null
  }
}
