import { readFileSync } from 'node:fs'
import type { Layout, Parts } from './kernel-layouts.ts'

/** Opens an array of numbers in a memory, by their type. */
const openArray = {
  f64: (buffer: ArrayBuffer, offset: number, length: number) => new Float64Array(buffer, offset, length),
  f32: (buffer: ArrayBuffer, offset: number, length: number) => new Float32Array(buffer, offset, length),
  i32: (buffer: ArrayBuffer, offset: number, length: number) => new Int32Array(buffer, offset, length),
  u32: (buffer: ArrayBuffer, offset: number, length: number) => new Uint32Array(buffer, offset, length),
  i16: (buffer: ArrayBuffer, offset: number, length: number) => new Int16Array(buffer, offset, length),
  u16: (buffer: ArrayBuffer, offset: number, length: number) => new Uint16Array(buffer, offset, length),
  u8: (buffer: ArrayBuffer, offset: number, length: number) => new Uint8Array(buffer, offset, length),
}
const pageBytes = 65_536

type NumberArray = ReturnType<(typeof openArray)[keyof typeof openArray]>
type Named<Names> = Names extends readonly (infer Name extends string)[] ? Readonly<Record<Name, number>> : never

export interface KernelMemory<P extends Parts> {
  readonly memory: WebAssembly.Memory
  readonly arrays: {
    readonly [Name in keyof P as P[Name][1] extends number ? Name : never]: ReturnType<(typeof openArray)[P[Name][0]]>
  }
  /** Writes the named numbers of a part, all of them, so that none is left over from the previous call. */
  readonly write: {
    readonly [Name in keyof P as P[Name][1] extends number ? never : Name]: (numbers: Named<P[Name][1]>) => void
  }
}

export function openMemory<P extends Parts>({ parts, offsets, bytes }: Layout<P>): KernelMemory<P> {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / pageBytes) })
  const arrays: Record<string, unknown> = {}
  const write: Record<string, unknown> = {}
  for (const [name, [type, numbers]] of Object.entries(parts)) {
    const open = (length: number) => openArray[type](memory.buffer as ArrayBuffer, offsets[name]!, length)
    if (typeof numbers === 'number') arrays[name] = open(numbers)
    else write[name] = writerOf(open(numbers.length), numbers)
  }
  return { memory, arrays, write } as unknown as KernelMemory<P>
}

function writerOf(array: NumberArray, names: readonly string[]): (numbers: Readonly<Record<string, number>>) => void {
  return (numbers) => {
    for (let i = 0; i < names.length; i++) array[i] = numbers[names[i]!]!
  }
}

/** A kernel that reads arenas. Each arena has its own instance, which is created on first use. */
export class ArenaKernel<Exports> {
  readonly #module: WebAssembly.Module
  readonly #arenas: readonly WebAssembly.Memory[]
  readonly #scratch: WebAssembly.Memory
  readonly #instances = new Map<WebAssembly.Memory, Exports>()

  constructor(file: string, arenas: readonly WebAssembly.Memory[], scratch: WebAssembly.Memory) {
    this.#module = compileKernel(file)
    this.#arenas = arenas
    this.#scratch = scratch
  }

  on(arena: number): Exports {
    const memory = this.#arenas[arena]!
    let found = this.#instances.get(memory)
    if (found === undefined) {
      const imports = { arena: { memory }, scratch: { memory: this.#scratch } }
      found = new WebAssembly.Instance(this.#module, imports).exports as Exports
      this.#instances.set(memory, found)
    }
    return found
  }
}

/**
 * Compiles a WebAssembly module of this folder. There is no fallback without SIMD, because only very old processors
 * lack it.
 */
export function compileKernel(file: string): WebAssembly.Module {
  const bytes = readFileSync(new URL(file, import.meta.url))
  try {
    return new WebAssembly.Module(bytes)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `the embedded search index cannot run here: it needs WebAssembly with SIMD (on x86-64 a processor with SSE4.1): ${reason}`,
      { cause: error },
    )
  }
}
