import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { SegmentRow } from '../file/durable-file.ts'
import type { ArenaParts } from '../memory/arena.ts'
import { type DictionaryBuffers, TermDictionary } from '../memory/term-dictionary.ts'
import { SealedLoader } from './load-sealed.ts'
import { type PlacedSegment, SegmentRooms, shifted } from './segment-rooms.ts'

/**
 * Loading is checksums and copies, so threads share it: the writer's, and helpers that are there for nothing else. Each takes
 * the next segment that none has taken, and puts it into memories of its own, which the writer takes over in the end.
 *
 * A helper is started before the terms are read, and begins when they are there: idle, ready, begun, ended. What it has not
 * brought, because it came too late, found damage or died, the writer loads by itself, and meets the trouble there.
 */
const idle = 0
const ready = 1
const begun = 2
const ended = 3
const unneeded = 4

/** A segment takes a fraction of a second: who has one for this long died with it. */
const silenceMaxMs = 60_000

/** What a helper is started with. */
export interface LoadOrder {
  readonly path: string
  readonly dictionary: DictionaryBuffers
  readonly classes: number
  readonly rows: readonly SegmentRow[]
  /** One number: how many rows are taken. */
  readonly taken: SharedArrayBuffer
  /** One number: how far this helper is. */
  readonly state: SharedArrayBuffer
  readonly port: MessagePort
}

/** What it sends back: rows by their numbers. */
interface LoadedPart {
  readonly segments: readonly (readonly [number, PlacedSegment])[]
  readonly arena: ArenaParts
  readonly roles: Uint8Array
}

/** In the helper's thread. */
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
      // The writer will load that row, and say what is wrong with it.
    }
    port.postMessage({ segments, arena: rooms.arena.parts, roles } satisfies LoadedPart)
    Atomics.store(states, 0, ended)
    Atomics.notify(states, 0)
  }
  port.close()
}

/** The numbers of rows that are taken here. */
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

/** In the writer's thread. */
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

  /** All rows, in their order; the terms must be there. The caller gives back the memory of those it got when it throws. */
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

  /** Helpers that have not begun need not; where loading failed, others take no more rows. */
  [Symbol.dispose](): void {
    Atomics.store(new Int32Array(this.#order.taken), 0, this.#order.rows.length)
    for (const { states, port } of this.#helpers) {
      for (const state of [idle, ready]) Atomics.compareExchange(states, 0, state, unneeded)
      Atomics.notify(states, 0)
      port.close()
    }
  }
}

/** Waits for what a helper has begun. */
function partOf({ states, port }: Helper): LoadedPart | null {
  Atomics.compareExchange(states, 0, ready, unneeded)
  if (Atomics.load(states, 0) === unneeded) return null
  Atomics.wait(states, 0, begun, silenceMaxMs)
  return receiveMessageOnPort(port)?.message ?? null
}
