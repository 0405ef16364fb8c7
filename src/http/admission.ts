import { TidemarkError } from '../platform/errors.ts'
import type { Permits } from './permits.ts'

/** The slot and the permit of a request. The request may end before it gets them. */
export class Admission {
  #slot: (() => void) | null = null
  #permit: (() => void) | null = null
  #working = false
  #hasEnded = false

  takeSlot(slot: (() => void) | null): boolean {
    this.#slot = slot
    if (this.#hasEnded) this.#release()
    return slot !== null
  }

  takePermit(permits: Permits): boolean {
    if (this.#hasEnded)
      throw new TidemarkError('client_closed_request', 'the client disconnected before it was answered')
    this.#permit = permits.take()
    return this.#permit !== null
  }

  /** Also called while a request only waits, so that long polls do not count as load. */
  releasePermit(): void {
    this.#permit?.()
  }

  workStarts(): void {
    this.#working = true
  }

  workEnds(): void {
    this.#working = false
    this.releasePermit()
    if (this.#hasEnded) this.#release()
  }

  requestEnds(): void {
    this.#hasEnded = true
    if (!this.#working) this.#release()
  }

  #release(): void {
    this.releasePermit()
    this.#slot?.()
  }
}
