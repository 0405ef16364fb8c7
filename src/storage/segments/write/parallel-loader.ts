import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { SegmentRow } from '../file/durable-file.ts'
import type { ArenaParts } from '../memory/arena.ts'
import { type DictionaryBuffers, TermDictionary } from '../memory/term-dictionary.ts'
import { SealedLoader } from './load-sealed.ts'
import { type PlacedSegment, SegmentAllocator, shifted } from './segment-allocator.ts'

/**
 * Loads the sealed segments with several threads: that of the writer, and helpers that only exist for loading. Each
 * takes the next segment that no thread has taken, and loads it into its own memories. The writer takes over the
 * memories of the helpers at the end.
 *
 * A helper is started before the terms are read, and begins when they are loaded. It is idle, then ready, running and
 * ended; or it is cancelled before it runs. Segments that a helper does not deliver, because it started too late, found
 * damage or ended, are loaded by the writer, which then finds the same damage.
 */
const idle = 0
const ready = 1
const running = 2
const ended = 3
const cancelled = 4

/** Loading a segment takes a fraction of a second, so a thread that takes this long has ended. */
const silenceMaxMs = 60_000

/** The task that a helper is started with. */
export interface LoadTask {
  readonly path: string
  readonly dictionary: DictionaryBuffers
  readonly classes: number
  readonly rows: readonly SegmentRow[]
  /** One number: the number of rows that are taken. */
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
export function runLoadHelper({ path, dictionary: buffers, classes, rows, taken, state, port }: LoadTask): void {
  const states = new Int32Array(state)
  Atomics.wait(states, 0, idle)
  if (Atomics.compareExchange(states, 0, ready, running) === ready) {
    const dictionary = new TermDictionary(buffers)
    const allocator = new SegmentAllocator(dictionary)
    const segments: [number, PlacedSegment][] = []
    const roles = new Uint8Array(dictionary.sharedSize)
    try {
      using loader = new SealedLoader(path, rows, allocator, roles, classes)
      for (const number of untaken(rows, taken)) segments.push([number, loader.load(rows[number]!)])
    } catch {
      // The writer will load that row, and report the damage.
    }
    port.postMessage({ segments, arena: allocator.arena.parts, roles } satisfies LoadedPart)
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
export class ParallelLoader implements Disposable {
  readonly #task: Omit<LoadTask, 'state' | 'port'>
  readonly #helpers: Helper[] = []

  constructor(task: Omit<LoadTask, 'taken' | 'state' | 'port'>) {
    this.#task = { ...task, taken: new SharedArrayBuffer(4) }
  }

  addHelper(start: (task: LoadTask) => void): void {
    const { port1, port2 } = new MessageChannel()
    const states = new Int32Array(new SharedArrayBuffer(4))
    this.#helpers.push({ states, port: port1 })
    start({ ...this.#task, state: states.buffer, port: port2 })
  }

  /**
   * Loads all rows into `placed`, in their order. The terms must be loaded. If it throws, the caller releases the
   * memory of the rows that were placed.
   */
  load(dictionary: TermDictionary, allocator: SegmentAllocator, placed: PlacedSegment[]): void {
    const { path, rows, classes, taken } = this.#task
    const roles = new Uint8Array(dictionary.size)
    for (const { states } of this.#helpers) {
      Atomics.compareExchange(states, 0, idle, ready)
      Atomics.notify(states, 0)
    }
    using loader = new SealedLoader(path, rows, allocator, roles, classes)
    for (const number of untaken(rows, taken)) placed[number] = loader.load(rows[number]!)
    for (const helper of this.#helpers) {
      const part = partOf(helper)
      if (part === null) continue
      const shift = allocator.arena.join(part.arena)
      for (const [number, segment] of part.segments) placed[number] = shifted(segment, shift)
      dictionary.addRoles(part.roles)
    }
    for (const [number, row] of rows.entries()) placed[number] ??= loader.load(row)
    dictionary.addRoles(roles)
  }

  /** Cancels the helpers that are not running. After a failure, the others take no more rows. */
  [Symbol.dispose](): void {
    Atomics.store(new Int32Array(this.#task.taken), 0, this.#task.rows.length)
    for (const { states, port } of this.#helpers) {
      for (const state of [idle, ready]) Atomics.compareExchange(states, 0, state, cancelled)
      Atomics.notify(states, 0)
      port.close()
    }
  }
}

/** Waits for a running helper. Returns null if the helper is not running, or delivers nothing. */
function partOf({ states, port }: Helper): LoadedPart | null {
  Atomics.compareExchange(states, 0, ready, cancelled)
  if (Atomics.load(states, 0) === cancelled) return null
  Atomics.wait(states, 0, running, silenceMaxMs)
  return receiveMessageOnPort(port)?.message ?? null
}
