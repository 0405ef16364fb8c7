import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Measures } from '../platform/measures.ts'

/** How long the rest of a body may take to arrive when the request was refused before it was read. */
const restOfBodyMs = 5000

/** How often shutdown checks which connections have become idle, and whether all are closed. */
const checkEveryMs = 50

interface Connection {
  /** Oldest first. */
  readonly open: Exchange[]
  idleSince: number
}

/** A request and its answer, from the first hook until the answer is sent or the connection is closed. */
export class Exchange {
  readonly response: ServerResponse
  readonly #listeners: (() => void)[] = []
  #hasEnded = false
  #waitedMs = 0
  #waitsSince: number | null = null

  constructor(response: ServerResponse) {
    this.response = response
  }

  /** For an answer that waits for an event: the wait does not count as work. */
  async holdUntil(event: Promise<void>): Promise<void> {
    this.#waitsSince = performance.now()
    await event
    this.#waitedMs = this.waitedMs
    this.#waitsSince = null
  }

  /** How long the answer has been held so far. */
  get waitedMs(): number {
    return this.#waitedMs + (this.#waitsSince === null ? 0 : performance.now() - this.#waitsSince)
  }

  /** Calls the listener once; at once if the exchange has ended already. */
  onEnd(listener: () => void): void {
    if (this.#hasEnded) listener()
    else this.#listeners.push(listener)
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    for (const listener of this.#listeners) listener()
  }
}

/** The open connections and the requests on them. Reports the end of each request and shuts all of them down. */
export class Connections {
  #connections = new Map<Socket, Connection>()
  #slow = new WeakSet<Socket>()
  #server: Server

  constructor(server: Server, connectionsMax: number, measures: Measures) {
    this.#server = server
    server.maxConnections = connectionsMax
    server.on('connection', (socket: Socket) => this.#opened(socket))
    server.on('timeout', (socket: Socket) => this.cutSlow(socket))
    let refused = 0
    server.on('drop', () => refused++)
    measures.gauge({ name: 'tidemark_connections', help: 'Open connections.' }, () => this.#connections.size)
    const help = 'Connections refused because too many were open.'
    measures.gauge({ name: 'tidemark_connections_refused', help }, () => refused)
  }

  /**
   * An exchange ends when its answer is sent or its connection is closed. Both must be observed, because a pipelined
   * answer behind another one gets no event when the connection is closed.
   */
  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = new Exchange(response)
    const connection = this.#connections.get(request.socket)
    if (connection === undefined) {
      // The connection has closed since the request arrived, or the request is internal and has none.
      if (request.socket.destroyed) exchange.end()
      else response.on('close', () => exchange.end())
      return exchange
    }
    const { open } = connection
    exchange.onEnd(() => {
      open.splice(open.indexOf(exchange), 1)
      if (open.length === 0) connection.idleSince = performance.now()
      if (!request.complete) boundRest(request)
    })
    open.push(exchange)
    response.on('close', () => exchange.end())
    return exchange
  }

  /** The unfinished requests of a connection, oldest first. */
  unanswered(socket: Socket): readonly ServerResponse[] {
    return (this.#connections.get(socket)?.open ?? []).map(({ response }) => response)
  }

  /** Closes a connection whose client has stalled. */
  cutSlow(socket: Socket): void {
    this.#slow.add(socket)
    socket.destroy()
  }

  /** Why a request ended without an answer. */
  endOf({ socket }: IncomingMessage): 'slow' | 'gone' | 'cut' {
    if (this.#slow.has(socket)) return 'slow'
    // A client that disconnects ends the readable side of the connection, or causes an error.
    return socket.readableEnded || socket.errored !== null ? 'gone' : 'cut'
  }

  /**
   * Starts the shutdown. Every answer from now on announces that its connection closes; the framework marks those of
   * new requests. Any other connection stays open until it has been idle for `quietMs`, so that a client about to use
   * it gets an answer and not a reset. Resolves when the server can stop listening.
   */
  async drain(quietMs: number): Promise<void> {
    for (const { open } of this.#connections.values()) {
      for (const { response } of open) if (!response.headersSent) response.setHeader('connection', 'close')
    }
    // Node would close idle connections as soon as it stops listening.
    this.#server.closeIdleConnections = () => {}
    const listensUntil = performance.now() + quietMs
    const { promise: quiet, resolve } = Promise.withResolvers<void>()
    const check = (): void => {
      const now = performance.now()
      for (const [socket, { open, idleSince }] of this.#connections) {
        if (open.length === 0 && now - Math.max(idleSince, listensUntil - quietMs) >= quietMs) socket.destroy()
      }
      if (now >= listensUntil || this.#connections.size === 0) resolve()
    }
    const timer = setInterval(check, checkEveryMs)
    this.#server.once('close', () => clearInterval(timer))
    check()
    await quiet
  }

  #opened(socket: Socket): void {
    const connection: Connection = { open: [], idleSince: performance.now() }
    this.#connections.set(socket, connection)
    socket.once('close', () => {
      this.#connections.delete(socket)
      for (const exchange of [...connection.open]) exchange.end()
    })
  }
}

/**
 * Limits how long the rest of a refused body is read. The answer is sent while the body still arrives: closing at once
 * would lose the answer of a client that is still sending, and reading without a limit would waste bandwidth.
 */
function boundRest(request: IncomingMessage): void {
  const { socket } = request
  if (socket.destroyed) return
  const late = setTimeout(() => socket.destroy(), restOfBodyMs)
  request.once('close', () => clearTimeout(late))
  request.resume()
}
