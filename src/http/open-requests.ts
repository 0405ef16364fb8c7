import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How long the rest of a body that nobody reads any more may take to arrive. */
const restOfBodyMs = 5000

/**
 * Knows when a request is over: its answer is out, or its connection is gone. Only both tell it for certain: the answer
 * to a request that came right behind another one on the same connection never hears of the connection's end.
 */
export class OpenRequests {
  #bySocket = new WeakMap<Socket, Set<() => void>>()
  #slow = new WeakSet<Socket>()

  /** Calls back once. */
  whenOver(request: IncomingMessage, response: ServerResponse, over: () => void): void {
    const open = this.#openOn(request.socket)
    const once = (): void => {
      if (!open.delete(once)) return
      if (!request.complete) boundRest(request)
      over()
    }
    open.add(once)
    response.once('close', once)
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

  #openOn(socket: Socket): Set<() => void> {
    let open = this.#bySocket.get(socket)
    if (open === undefined) {
      const made = new Set<() => void>()
      open = made
      this.#bySocket.set(socket, made)
      socket.once('close', () => {
        for (const over of made) over()
      })
    }
    return open
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
