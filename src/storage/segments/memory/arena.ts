/**
 * Shared memory that is given back on purpose.
 *
 * V8 does not collect a SharedArrayBuffer because memory runs short: 200 dropped buffers of 30 MB were still resident
 * (6 GB) after an idle thread had done nothing. So segments live in a few large shared blocks, the writer alone allocates
 * and frees, and a block is freed only when no reader can still be in it (`control.ts`, pins).
 *
 * The blocks are WebAssembly memories, so that the vector kernel reads them in place. Pages never touched take no
 * physical memory; pages freed stay resident until the next allocation, which takes the lowest fit.
 */
export interface Block {
  readonly arena: number
  readonly offset: number
  readonly bytes: number
}

const wasmPageBytes = 65_536
const alignmentBytes = 64
/** At the end of each memory, nobody's: a kernel loads 16 bytes at once, at the last word of a block too. */
const beyondBytes = alignmentBytes
const aligned = (bytes: number): number => Math.ceil(bytes / alignmentBytes) * alignmentBytes

interface Gap {
  offset: number
  bytes: number
}

/** An arena as one thread gives it to another. */
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

  /** The most that was ever in use: about what stays resident. */
  get peakBytes(): number {
    return this.#peakBytes
  }

  /**
   * The content of the block is whatever was there before. Its first byte stands where 64 bytes begin that come from memory
   * together, or the one that is told does.
   */
  allocate(bytes: number, alignedByte = 0): Block {
    const shift = aligned(alignedByte) - alignedByte
    const size = Math.max(alignmentBytes, aligned(shift + bytes))
    for (let arena = 0; arena < this.#gaps.length; arena++) {
      const offset = this.#take(arena, size)
      if (offset >= 0) return { arena, offset: offset + shift, bytes }
    }
    const pages = Math.ceil((Math.max(this.#memoryBytes, size) + beyondBytes) / wasmPageBytes)
    this.memories.push(new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }))
    this.#gaps.push([{ offset: 0, bytes: pages * wasmPageBytes - beyondBytes }])
    const arena = this.#gaps.length - 1
    return { arena, offset: this.#take(arena, size) + shift, bytes }
  }

  free(block: Block): void {
    const offset = block.offset - (block.offset % alignmentBytes)
    const size = Math.max(alignmentBytes, aligned(block.offset - offset + block.bytes))
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

  /** Takes over what another thread has filled. Gives the number of its first memory here. */
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
