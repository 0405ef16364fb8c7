import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { SegmentRow } from '../file/durable-file.ts'
import type { ArenaParts } from '../memory/arena.ts'
import { type DictionaryBuffers, TermDictionary } from '../memory/term-dictionary.ts'
import { SealedLoader } from './load-sealed.ts'
import { type PlacedSegment, SegmentRooms, shifted } from './segment-rooms.ts'

/**
 * Loading means checksums and copies, so threads share it: the writer's thread, and helpers that only exist for it.
 * Each takes the next segment that no thread has taken, and loads it into its own memories, which the writer takes over
 * in the end.
 *
 * A helper is started before the terms are read, and begins when they are loaded. Its states are idle, ready, begun,
 * ended. Segments that it does not deliver, because it came too late, found damage or ended, are loaded by the writer,
 * which then meets the same fault.
 */
const idle = 0
const ready = 1
const begun = 2
const ended = 3
const unneeded = 4

/** A segment takes a fraction of a second: a thread that holds one for this long has ended. */
const silenceMaxMs = 60_000

/** The data that a helper is started with. */
export interface LoadOrder {
  readonly path: string
  readonly dictionary: DictionaryBuffers
  readonly classes: number
  readonly rows: readonly SegmentRow[]
  /** One number: how many rows are taken. */
  readonly taken: SharedArrayBuffer
  /** One number: the state of this helper. */
  readonly state: SharedArrayBuffer
  readonly port: MessagePort
}

/** The result of a helper: rows by their numbers. */
interface LoadedPart {
  readonly segments: readonly (readonly [number, PlacedSegment])[]
  readonly arena: ArenaParts
  readonly roles: Uint8Array
}

/** Runs in the helper's thread. */
export function helpToLoad({ path, dictionary: buffers, classes, rows, taken, state, port }: LoadOrder): void {
  const states = new Int32Array(state)
  Atomics.wait(states, 0, idle)
  if (Atomics.compareExchange(states, 0, ready, begun) === ready) {
    const dictionary = new TermDictionary(buffers)
    const rooms = new SegmentRooms(dictionary)
    const segments: [number, PlacedSegment][] = []
    const roles = new Uint8Array(dictionary.sharedSize)
    try {
      using loader = new SealedLoader(path, rows, rooms, roles, classes)
      for (const number of untaken(rows, taken)) segments.push([number, loader.load(rows[number]!)])
    } catch {
      // The writer will load that row, and report the fault.
    }
    port.postMessage({ segments, arena: rooms.arena.parts, roles } satisfies LoadedPart)
    Atomics.store(states, 0, ended)
    Atomics.notify(states, 0)
  }
  port.close()
}

/** Takes the next rows and yields their numbers. */
function* untaken(rows: readonly SegmentRow[], taken: SharedArrayBuffer): Generator<number> {
  const count = new Int32Array(taken)
  for (;;) {
    const number = Atomics.add(count, 0, 1)
    if (number >= rows.length) return
    yield number
  }
}

interface Helper {
  readonly states: Int32Array<SharedArrayBuffer>
  readonly port: MessagePort
}

/** Runs in the writer's thread. */
export class LoadingTogether implements Disposable {
  readonly #order: Omit<LoadOrder, 'state' | 'port'>
  readonly #helpers: Helper[] = []

  constructor(order: Omit<LoadOrder, 'taken' | 'state' | 'port'>) {
    this.#order = { ...order, taken: new SharedArrayBuffer(4) }
  }

  addHelper(start: (order: LoadOrder) => void): void {
    const { port1, port2 } = new MessageChannel()
    const states = new Int32Array(new SharedArrayBuffer(4))
    this.#helpers.push({ states, port: port1 })
    start({ ...this.#order, state: states.buffer, port: port2 })
  }

  /**
   * Loads all rows, in their order; the terms must be loaded. If it throws, the caller releases the memory of the rows
   * it got.
   */
  load(dictionary: TermDictionary, rooms: SegmentRooms, placed: PlacedSegment[]): void {
    const { path, rows, classes, taken } = this.#order
    const roles = new Uint8Array(dictionary.size)
    for (const { states } of this.#helpers) {
      Atomics.compareExchange(states, 0, idle, ready)
      Atomics.notify(states, 0)
    }
    using loader = new SealedLoader(path, rows, rooms, roles, classes)
    for (const number of untaken(rows, taken)) placed[number] = loader.load(rows[number]!)
    for (const helper of this.#helpers) {
      const part = partOf(helper)
      if (part === null) continue
      const shift = rooms.arena.join(part.arena)
      for (const [number, segment] of part.segments) placed[number] = shifted(segment, shift)
      dictionary.addRoles(part.roles)
    }
    for (const [number, row] of rows.entries()) placed[number] ??= loader.load(row)
    dictionary.addRoles(roles)
  }

  /** Helpers that have not begun are not needed any more; after a failure, the others take no more rows. */
  [Symbol.dispose](): void {
    Atomics.store(new Int32Array(this.#order.taken), 0, this.#order.rows.length)
    for (const { states, port } of this.#helpers) {
      for (const state of [idle, ready]) Atomics.compareExchange(states, 0, state, unneeded)
      Atomics.notify(states, 0)
      port.close()
    }
  }
}

/** Waits for the work that a helper has begun. */
function partOf({ states, port }: Helper): LoadedPart | null {
  Atomics.compareExchange(states, 0, ready, unneeded)
  if (Atomics.load(states, 0) === unneeded) return null
  Atomics.wait(states, 0, begun, silenceMaxMs)
  return receiveMessageOnPort(port)?.message ?? null
}
