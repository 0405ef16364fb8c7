import { oneAtATime } from '../../platform/one-at-a-time.ts'
import type { DiskReserve } from './reserve.ts'

interface WriteParts<Call> {
  readonly reserve: DiskReserve
  readonly send: (call: Call) => Promise<unknown>
  /** The calls that may use the reserve. */
  readonly isUrgent: (call: Call) => boolean
  readonly isForWantOfRoom: (error: unknown) => boolean
  /** The error for other calls while the reserve is used. */
  readonly refusal: (call: Call) => Error
}

/**
 * Sends calls to the writer, with a reserve that only urgent calls may use:
 *
 *   an urgent call finds no room -> others are refused -> open calls settle -> the reserve is deleted
 *     -> the urgent call is sent -> the reserve is restored -> others are admitted
 *
 * A partial reserve is filled up after every successful write, so that it is whole when there is room again.
 */
export class ReservedWrites<Call> {
  readonly #parts: WriteParts<Call>
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #withReserve = oneAtATime()
  #urgentWaiting = 0

  constructor(parts: WriteParts<Call>) {
    this.#parts = parts
  }

  async write(call: Call): Promise<unknown> {
    const { reserve, isUrgent, isForWantOfRoom, refusal } = this.#parts
    const urgent = isUrgent(call)
    if (this.#urgentWaiting > 0 && !urgent) throw refusal(call)
    try {
      const result = await this.#send(call)
      if (!reserve.isWhole) await this.#withReserve(() => this.#keep())
      return result
    } catch (error) {
      if (!isForWantOfRoom(error)) throw error
      reserve.doubt()
      if (!urgent) throw error
      return await this.#sendUrgent(call)
    }
  }

  async #sendUrgent(call: Call): Promise<unknown> {
    this.#urgentWaiting++
    try {
      return await this.#withReserve(async () => {
        await Promise.allSettled(this.#underWay)
        await this.#parts.reserve.giveUp()
        try {
          return await this.#parts.send(call)
        } finally {
          await this.#keep()
        }
      })
    } finally {
      this.#urgentWaiting--
    }
  }

  async #send(call: Call): Promise<unknown> {
    const sent = this.#parts.send(call)
    this.#underWay.add(sent)
    try {
      return await sent
    } finally {
      this.#underWay.delete(sent)
    }
  }

  async #keep(): Promise<void> {
    if (!this.#parts.reserve.isWhole) await this.#parts.reserve.keep()
  }
}
