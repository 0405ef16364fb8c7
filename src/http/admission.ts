import { TidemarkError } from '../errors.ts'
import type { Permits } from './permits.ts'

/** What a request has on its way. It may be over before anything is given to it. */
export class Admission {
  #place: (() => void) | null = null
  #permit: (() => void) | null = null
  #working = false
  #over = false

  takePlace(place: (() => void) | null): boolean {
    this.#place = place
    if (this.#over) this.#leave()
    return place !== null
  }

  takePermit(permits: Permits): boolean {
    if (this.#over) throw new TidemarkError('client_closed_request', 'the client went away before it was answered')
    this.#permit = permits.take()
    return this.#permit !== null
  }

  /** Also while a request only waits, so that long polls do not count as load. */
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
    this.#place?.()
  }
}
