/**
 * The few numbers that all threads share: the version of the list of segments, the generation up to which deletions
 * count, the number of chunks, and the list version that each reader uses.
 *
 * Rules
 *
 * - There is one writer. It sends a new list to the readers first, and then publishes it under a seqlock: it makes the
 *   sequence number odd, makes its changes, and makes the number even again. A reader takes its snapshot between two
 *   equal even numbers, so that generation, list and term numbers are consistent.
 * - A chunk is deleted for a search if its deletion has a generation at or below that of the search's snapshot. A
 *   deletion that is published during a search has a higher generation: the search sees the index as of its start.
 * - A reader pins the list version that it uses. Memory that left the list at version v is free when every pin is at
 *   least v. An idle reader pins nothing, and the pin of a reader thread that has ended is removed.
 */
const sequenceAt = 0
const versionAt = 1
const generationAt = 2
const chunksAt = 3
const pinsAt = 16
const pinsMax = 240
const unpinned = 0x7fffffff

export interface Snapshot {
  /** The sequence number, which differs from that of every other state. */
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

  /** Opens the shared numbers of other threads, or creates new ones. */
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

  /** The number of chunks of the whole index, approximately current. */
  get chunks(): number {
    return Atomics.load(this.#words, chunksAt) >>> 0
  }

  /** Runs `change`, which marks deletions with the given generation and must be short, and publishes the list. */
  publish(publication: Publication, change: (generation: number) => void): void {
    const generation = this.generation + 1
    Atomics.add(this.#words, sequenceAt, 1)
    try {
      change(generation)
      Atomics.store(this.#words, chunksAt, publication.chunks)
      Atomics.store(this.#words, generationAt, generation)
      Atomics.store(this.#words, versionAt, publication.version)
    } finally {
      // Readers wait while the number is odd, so it must become even again even if `change` throws.
      Atomics.add(this.#words, sequenceAt, 1)
      Atomics.notify(this.#words, sequenceAt)
    }
  }

  /**
   * Takes a snapshot and pins the reader to its list. Runs `read`, which looks up term numbers, again until the state
   * has not changed meanwhile.
   */
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

  /** Resolves when something was published after `state`, the state of a snapshot. */
  async published(state: number): Promise<void> {
    await Atomics.waitAsync(this.#words, sequenceAt, state).value
  }

  unpin(reader: number): void {
    Atomics.store(this.#words, pinsAt + reader, unpinned)
  }

  /** The oldest list version that a reader may still use. */
  oldestPinned(): number {
    let oldest = unpinned
    for (let i = 0; i < pinsMax; i++) oldest = Math.min(oldest, Atomics.load(this.#words, pinsAt + i))
    return oldest
  }
}

export const readersMax = pinsMax
