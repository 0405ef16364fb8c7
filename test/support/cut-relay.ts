import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * A proxy to a server on this machine. It simulates network failures: connections can be cut or silenced, and repaired.
 */
export class CutRelay {
  readonly #server = createServer((incoming) => this.#pass(incoming))
  readonly #open = new Set<Socket>()
  readonly #to: number
  #isCut = false
  #isSilent = false

  private constructor(to: number) {
    this.#to = to
  }

  static async to(port: number): Promise<CutRelay> {
    const relay = new CutRelay(port)
    relay.#server.listen(0, '127.0.0.1')
    await once(relay.#server, 'listening')
    relay.#server.unref()
    return relay
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Closes open connections and refuses new ones. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#open) socket.destroy()
  }

  /** Stops forwarding, on open and new connections, without closing them. */
  silence(): void {
    this.#isSilent = true
    for (const socket of this.#open) socket.unpipe().resume()
  }

  /** Forwards connections again. Silent ones are closed. */
  repair(): void {
    if (this.#isSilent) this.cut()
    this.#isCut = false
    this.#isSilent = false
  }

  #pass(incoming: Socket): void {
    if (this.#isCut) {
      incoming.destroy()
      return
    }
    if (this.#isSilent) {
      this.#open.add(incoming)
      incoming.on('error', () => {}).on('close', () => this.#open.delete(incoming))
      incoming.resume().unref()
      return
    }
    const outgoing = connect(this.#to, '127.0.0.1')
    for (const [socket, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      this.#open.add(socket)
      socket.unref()
      socket.pipe(other)
      socket
        .on('error', () => {})
        .on('close', () => {
          this.#open.delete(socket)
          other.destroy()
        })
    }
  }
}
