import { oneAtATime } from '../../platform/one-at-a-time.ts'
import type { DiskReserve } from './reserve.ts'

interface WriteParts<Call> {
  readonly reserve: DiskReserve
  readonly send: (call: Call) => Promise<unknown>
  /** The calls that may use the reserve. */
  readonly isUrgent: (call: Call) => boolean
  /** Whether a call failed because the disk is full. */
  readonly isDiskFull: (error: unknown) => boolean
  /** The error for other calls while the reserve is used. */
  readonly refusal: (call: Call) => Error
}

/**
 * Sends calls to the writer, with a disk reserve that only urgent calls may use:
 *
 *   an urgent call finds the disk full -> other calls are refused -> calls in flight settle -> the reserve is released
 *     -> the urgent call is sent -> the reserve is restored -> other calls are admitted
 *
 * A partial reserve is filled up after every successful write, so that it is whole when there is room again.
 */
export class ReservedWrites<Call> {
  readonly #parts: WriteParts<Call>
  readonly #inFlight = new Set<Promise<unknown>>()
  readonly #withReserve = oneAtATime()
  #urgentWaiting = 0

  constructor(parts: WriteParts<Call>) {
    this.#parts = parts
  }

  async write(call: Call): Promise<unknown> {
    const { reserve, isUrgent, isDiskFull, refusal } = this.#parts
    const urgent = isUrgent(call)
    if (this.#urgentWaiting > 0 && !urgent) throw refusal(call)
    try {
      const result = await this.#send(call)
      if (!reserve.isWhole) await this.#withReserve(() => this.#refill())
      return result
    } catch (error) {
      if (!isDiskFull(error)) throw error
      reserve.invalidate()
      if (!urgent) throw error
      return await this.#sendUrgent(call)
    }
  }

  async #sendUrgent(call: Call): Promise<unknown> {
    this.#urgentWaiting++
    try {
      return await this.#withReserve(async () => {
        await Promise.allSettled(this.#inFlight)
        await this.#parts.reserve.release()
        try {
          return await this.#parts.send(call)
        } finally {
          await this.#refill()
        }
      })
    } finally {
      this.#urgentWaiting--
    }
  }

  async #send(call: Call): Promise<unknown> {
    const sent = this.#parts.send(call)
    this.#inFlight.add(sent)
    try {
      return await sent
    } finally {
      this.#inFlight.delete(sent)
    }
  }

  async #refill(): Promise<void> {
    if (!this.#parts.reserve.isWhole) await this.#parts.reserve.refill()
  }
}
