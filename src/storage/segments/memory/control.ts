/**
 * The few numbers that all threads share: which list of segments is current, up to which generation deaths count, how
 * many chunks there are, and which list each reader is in.
 *
 * Rules
 * - One writer. It sends a new list to the readers first, then publishes: sequence odd, change, sequence even. A reader
 *   takes its snapshot between two equal even sequence numbers, so generation, list and term numbers belong together.
 * - A chunk is dead for a search when `died <= generation` of its snapshot. A death that is published while a search runs
 *   has a higher generation: the search goes on as of its start.
 * - A reader pins the list version it works on. Memory that left the list at version v is free when every pin is at
 *   least v; a reader without work pins nothing, and what one that died had pinned is unpinned for it.
 */
const sequenceAt = 0
const versionAt = 1
const generationAt = 2
const chunksAt = 3
const pinsAt = 16
const pinsMax = 240
const unpinned = 0x7fffffff

export interface Snapshot {
  /** Differs from that of every other state. */
  state: number
  version: number
  generation: number
}

export interface Publication {
  readonly version: number
  readonly chunks: number
}

export class Control {
  readonly buffer: SharedArrayBuffer
  readonly #words: Int32Array<SharedArrayBuffer>

  /** Of the threads that share it, or a new one. */
  constructor(shared?: SharedArrayBuffer) {
    this.buffer = shared ?? new SharedArrayBuffer((pinsAt + pinsMax) * 4)
    this.#words = new Int32Array(this.buffer)
    if (shared === undefined) this.#words.fill(unpinned, pinsAt)
  }

  get generation(): number {
    return Atomics.load(this.#words, generationAt)
  }

  get version(): number {
    return Atomics.load(this.#words, versionAt)
  }

  /** Of the whole index, as of about now. */
  get chunks(): number {
    return Atomics.load(this.#words, chunksAt) >>> 0
  }

  /** `change` stamps deaths with the generation it is given; it must be short. */
  publish(publication: Publication, change: (generation: number) => void): void {
    const generation = this.generation + 1
    Atomics.add(this.#words, sequenceAt, 1)
    try {
      change(generation)
      Atomics.store(this.#words, chunksAt, publication.chunks)
      Atomics.store(this.#words, generationAt, generation)
      Atomics.store(this.#words, versionAt, publication.version)
    } finally {
      // Readers wait while the number is odd; whatever happens, they must not wait for ever.
      Atomics.add(this.#words, sequenceAt, 1)
      Atomics.notify(this.#words, sequenceAt)
    }
  }

  /** Runs `read` (term numbers) until it saw one unchanged state. Ends with the reader pinned to the snapshot's list. */
  snapshot(reader: number, read: () => void): Snapshot {
    for (;;) {
      const sequence = Atomics.load(this.#words, sequenceAt)
      if (sequence & 1) {
        // A publication takes microseconds.
        Atomics.wait(this.#words, sequenceAt, sequence, 1)
        continue
      }
      const version = Atomics.load(this.#words, versionAt)
      Atomics.store(this.#words, pinsAt + reader, version)
      const generation = Atomics.load(this.#words, generationAt)
      read()
      if (Atomics.load(this.#words, sequenceAt) === sequence) return { state: sequence, version, generation }
    }
  }

  /** Resolves after something was published since `state`, the snapshot's. */
  async published(state: number): Promise<void> {
    await Atomics.waitAsync(this.#words, sequenceAt, state).value
  }

  unpin(reader: number): void {
    Atomics.store(this.#words, pinsAt + reader, unpinned)
  }

  /** The oldest list version that a reader may still be in. */
  oldestPinned(): number {
    let oldest = unpinned
    for (let i = 0; i < pinsMax; i++) oldest = Math.min(oldest, Atomics.load(this.#words, pinsAt + i))
    return oldest
  }
}

export const readersMax = pinsMax
