import { crc32 } from 'node:zlib'
import { isMachineTrouble } from '../../full-disk.ts'

/** The content of the file is inconsistent. The writer then reports `needs_rebuild`. */
export class DamagedFile extends Error {}

export const vectorDamage = 'a vector is missing or damaged'

/**
 * Converts an error of reading the file into `DamagedFile`. Returns errors of the machine, such as a full disk,
 * unchanged.
 */
export function asDamage(error: unknown, path: string): unknown {
  if (error instanceof DamagedFile || isMachineTrouble(error, path)) return error
  return new DamagedFile(error instanceof Error ? error.message : String(error))
}

export function checkedBytes(what: string, data: unknown, crc: unknown): Uint8Array<ArrayBuffer> {
  if (!(data instanceof Uint8Array) || crc32(data) !== crc)
    throw new DamagedFile(`checksum of a ${what} does not match`)
  return data as Uint8Array<ArrayBuffer>
}

export function checkedJson<T>(what: string, data: unknown, crc: unknown): T {
  if (typeof data !== 'string' || crc32(data) !== crc) throw new DamagedFile(`checksum of a ${what} does not match`)
  return JSON.parse(data) as T
}
