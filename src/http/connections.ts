import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Measures } from '../measures.ts'

/** How long the rest of a body that nobody reads any more may take to arrive. */
const restOfBodyMs = 5000

/** While the server ends, how often it looks for connections that have become idle, and whether all are gone. */
const lookEveryMs = 50

interface Connection {
  /** In the order in which they came. */
  readonly open: Exchange[]
  idleSince: number
}

/** A request and its answer, from the first hook on until the answer is out or the connection is gone. */
export class Exchange {
  readonly response: ServerResponse
  readonly #ends: (() => void)[] = []
  #isOver = false

  constructor(response: ServerResponse) {
    this.response = response
  }

  /** Calls back once: at once where it is over already. */
  whenOver(end: () => void): void {
    if (this.#isOver) end()
    else this.#ends.push(end)
  }

  over(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const end of this.#ends) end()
  }
}

/** The open connections, and the requests on them: when each is over, and how all of them end. */
export class Connections {
  #connections = new Map<Socket, Connection>()
  #slow = new WeakSet<Socket>()
  #server: Server

  constructor(server: Server, most: number, measures: Measures) {
    this.#server = server
    server.maxConnections = most
    server.on('connection', (socket: Socket) => this.#opened(socket))
    server.on('timeout', (socket: Socket) => this.cutSlow(socket))
    let refused = 0
    server.on('drop', () => refused++)
    measures.gauge({ name: 'tidemark_connections', help: 'Open connections.' }, () => this.#connections.size)
    const help = 'Connections there was no room for, so far.'
    measures.gauge({ name: 'tidemark_connections_refused', help }, () => refused)
  }

  /**
   * It is over when the answer is out or the connection is gone. Only both together tell it for certain: the answer to a
   * request that came right behind another one on the same connection never hears of the connection's end.
   */
  begin(request: IncomingMessage, response: ServerResponse): Exchange {
    const exchange = new Exchange(response)
    const connection = this.#connections.get(request.socket)
    if (connection === undefined) {
      // Closed since the request arrived; or there never was one, and the request was handed in by the process itself.
      if (request.socket.destroyed) exchange.over()
      else response.on('close', () => exchange.over())
      return exchange
    }
    const { open } = connection
    exchange.whenOver(() => {
      open.splice(open.indexOf(exchange), 1)
      if (open.length === 0) connection.idleSince = performance.now()
      if (!request.complete) boundRest(request)
    })
    open.push(exchange)
    response.on('close', () => exchange.over())
    return exchange
  }

  /** The requests of a connection that are not over, in the order in which they came. */
  unanswered(socket: Socket): readonly ServerResponse[] {
    return (this.#connections.get(socket)?.open ?? []).map(({ response }) => response)
  }

  /** Ends a connection on which it is the client's turn, and has been for long. */
  cutSlow(socket: Socket): void {
    this.#slow.add(socket)
    socket.destroy()
  }

  /** Why a request is over that was not answered. */
  endOf({ socket }: IncomingMessage): 'slow' | 'gone' | 'cut' {
    if (this.#slow.has(socket)) return 'slow'
    // The client's end of a connection is seen as the end of what can be read from it, or as an error.
    return socket.readableEnded || socket.errored !== null ? 'gone' : 'cut'
  }

  /**
   * The server is about to end. Every answer from now on says that its connection closes; those of requests that come
   * from now on the framework marks itself. A connection that was told nothing yet is left open until it has been idle for
   * `quietMs`: a client that is about to use it is answered, and not met by a reset. Resolves when the server can
   * stop listening.
   */
  async drain(quietMs: number): Promise<void> {
    for (const { open } of this.#connections.values()) {
      for (const { response } of open) if (!response.headersSent) response.setHeader('connection', 'close')
    }
    // Node would end idle connections the moment it stops listening.
    this.#server.closeIdleConnections = () => {}
    const listensUntil = performance.now() + quietMs
    const { promise: quiet, resolve } = Promise.withResolvers<void>()
    const look = (): void => {
      const now = performance.now()
      for (const [socket, { open, idleSince }] of this.#connections) {
        if (open.length === 0 && now - Math.max(idleSince, listensUntil - quietMs) >= quietMs) socket.destroy()
      }
      if (now >= listensUntil || this.#connections.size === 0) resolve()
    }
    const looking = setInterval(look, lookEveryMs)
    this.#server.once('close', () => clearInterval(looking))
    look()
    await quiet
  }

  #opened(socket: Socket): void {
    const connection: Connection = { open: [], idleSince: performance.now() }
    this.#connections.set(socket, connection)
    socket.once('close', () => {
      this.#connections.delete(socket)
      for (const exchange of [...connection.open]) exchange.over()
    })
  }
}

/**
 * A request that was refused before its body was read is answered while the body still comes. Closing at once would
 * take the answer away from under a client that is still sending; reading on without end would be a gift.
 */
function boundRest(request: IncomingMessage): void {
  const { socket } = request
  if (socket.destroyed) return
  const late = setTimeout(() => socket.destroy(), restOfBodyMs)
  request.once('close', () => clearTimeout(late))
  request.resume()
}
