import { TidemarkError } from '../platform/errors.ts'
import type { Permits } from './permits.ts'

/** The slot and the permit of a request. The request may be over before it gets them. */
export class Admission {
  #slot: (() => void) | null = null
  #permit: (() => void) | null = null
  #working = false
  #over = false

  takeSlot(slot: (() => void) | null): boolean {
    this.#slot = slot
    if (this.#over) this.#leave()
    return slot !== null
  }

  takePermit(permits: Permits): boolean {
    if (this.#over) throw new TidemarkError('client_closed_request', 'the client disconnected before it was answered')
    this.#permit = permits.take()
    return this.#permit !== null
  }

  /** Also called while a request only waits, so that long polls do not count as load. */
  releasePermit(): void {
    this.#permit?.()
  }

  workBegins(): void {
    this.#working = true
  }

  workEnds(): void {
    this.#working = false
    this.releasePermit()
    if (this.#over) this.#leave()
  }

  over(): void {
    this.#over = true
    if (!this.#working) this.#leave()
  }

  #leave(): void {
    this.releasePermit()
    this.#slot?.()
  }
}
