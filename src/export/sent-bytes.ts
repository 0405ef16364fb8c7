/**
 * Bytes that go out and are nobody's afterwards. They are given back as soon as they have left the process: the collector
 * would have to look through everything else for every 20 MB of them, which costs as much as making the lines.
 */
export class SentBytes {
  /** Bytes that were handed on and have not left yet, with whatever stands between them. */
  readonly #waiting: () => number
  readonly #give: (bytes: Uint8Array) => void
  #handedOn = 0
  #kept: { readonly bytes: Uint8Array; readonly through: number }[] = []

  constructor(waiting: () => number, give: (bytes: Uint8Array) => void = free) {
    this.#waiting = waiting
    this.#give = give
  }

  /** To be handed on at once, and in this order. */
  begin(bytes: Uint8Array): Uint8Array {
    const left = this.#handedOn - this.#waiting()
    while (this.#kept.length > 0 && this.#kept[0]!.through <= left) this.#give(this.#kept.shift()!.bytes)
    this.#handedOn += bytes.length
    this.#kept.push({ bytes, through: this.#handedOn })
    return bytes
  }
}

/** Nobody can look at them any more, and their memory is free. */
const free = ({ buffer }: Uint8Array): void => void (buffer as ArrayBuffer).transfer(0)
