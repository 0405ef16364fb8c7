/**
 * Allocates blocks of shared memory that are freed explicitly (first fit).
 *
 * V8 does not collect a SharedArrayBuffer when memory runs short. So segments are in blocks of a few large shared
 * memories. Only the writer allocates and frees, and it frees a block when no reader can still be using it (pins, see
 * `control.ts`).
 *
 * The memories are WebAssembly memories, so that the kernels read them in place. Pages that were never touched take no
 * physical memory. Freed pages stay resident and are used for the next block that fits.
 */
export interface Block {
  readonly arena: number
  readonly offset: number
  readonly bytes: number
}

const wasmPageBytes = 65_536
const alignmentBytes = 64
/** Unused bytes at the end of each memory: a kernel loads 16 bytes at once, even at the last word of a block. */
const beyondBytes = alignmentBytes
const aligned = (bytes: number): number => Math.ceil(bytes / alignmentBytes) * alignmentBytes

interface Gap {
  offset: number
  bytes: number
}

/** An arena as it is sent between threads. */
export interface ArenaParts {
  readonly memories: readonly WebAssembly.Memory[]
  readonly gaps: readonly Gap[][]
  readonly usedBytes: number
}

export class Arena {
  readonly memories: WebAssembly.Memory[] = []
  readonly #gaps: Gap[][] = []
  readonly #memoryBytes: number
  #usedBytes = 0
  #peakBytes = 0

  constructor(memoryBytes = 256 * 1024 * 1024) {
    this.#memoryBytes = memoryBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /** The highest use so far: roughly the resident memory. */
  get peakBytes(): number {
    return this.#peakBytes
  }

  /** The content of the block is undefined. The block starts at a cache line of 64 bytes. */
  allocate(bytes: number): Block {
    const size = Math.max(alignmentBytes, aligned(bytes))
    for (let arena = 0; arena < this.#gaps.length; arena++) {
      const offset = this.#take(arena, size)
      if (offset >= 0) return { arena, offset, bytes }
    }
    const pages = Math.ceil((Math.max(this.#memoryBytes, size) + beyondBytes) / wasmPageBytes)
    this.memories.push(new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }))
    this.#gaps.push([{ offset: 0, bytes: pages * wasmPageBytes - beyondBytes }])
    const arena = this.#gaps.length - 1
    return { arena, offset: this.#take(arena, size), bytes }
  }

  free(block: Block): void {
    const { offset } = block
    const size = Math.max(alignmentBytes, aligned(block.bytes))
    const gaps = this.#gaps[block.arena]!
    let at = 0
    while (at < gaps.length && gaps[at]!.offset < offset) at++
    gaps.splice(at, 0, { offset, bytes: size })
    this.#joinWithNext(gaps, at)
    if (at > 0) this.#joinWithNext(gaps, at - 1)
    this.#usedBytes -= size
  }

  get parts(): ArenaParts {
    return { memories: this.memories, gaps: this.#gaps, usedBytes: this.#usedBytes }
  }

  /** Takes over an arena that another thread has filled. Returns the number of its first memory here. */
  join({ memories, gaps, usedBytes }: ArenaParts): number {
    const first = this.memories.length
    this.memories.push(...memories)
    this.#gaps.push(...gaps)
    this.#usedBytes += usedBytes
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes)
    return first
  }

  #take(arena: number, size: number): number {
    const gaps = this.#gaps[arena]!
    const at = gaps.findIndex((gap) => gap.bytes >= size)
    if (at < 0) return -1
    const gap = gaps[at]!
    const offset = gap.offset
    gap.offset += size
    gap.bytes -= size
    if (gap.bytes === 0) gaps.splice(at, 1)
    this.#usedBytes += size
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes)
    return offset
  }

  #joinWithNext(gaps: Gap[], at: number): void {
    const gap = gaps[at]!
    const next = gaps[at + 1]
    if (next === undefined || gap.offset + gap.bytes !== next.offset) return
    gap.bytes += next.bytes
    gaps.splice(at + 1, 1)
  }
}

export function bytesOf(memories: readonly WebAssembly.Memory[], block: Block): Uint8Array<ArrayBufferLike> {
  return new Uint8Array(memories[block.arena]!.buffer, block.offset, block.bytes)
}
