import { oneAtATime } from '../../one-at-a-time.ts'
import type { DiskReserve } from './reserve.ts'

interface WriteParts<Call> {
  readonly reserve: DiskReserve
  readonly send: (call: Call) => Promise<unknown>
  /** What the reserve is for. */
  readonly isUrgent: (call: Call) => boolean
  readonly isForWantOfRoom: (error: unknown) => boolean
  /** What others are refused with while the reserve is given up. */
  readonly refusal: (call: Call) => Error
}

/**
 * The way to the writer, past a reserve that only urgent calls may use:
 *
 *   an urgent call finds no room -> others are refused -> those under way settle -> the reserve is given up
 *     -> the urgent call is sent -> the reserve is kept -> others are let through
 *
 * A reserve that is not whole is filled up after every write that was done, so that it is whole when room is back.
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
