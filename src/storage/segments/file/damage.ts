import { crc32 } from 'node:zlib'
import { isMachineTrouble } from '../../full-disk.ts'

/** The content of the file is inconsistent: the writer reports "needs rebuild". */
export class DamagedFile extends Error {}

export const vectorDamage = 'a vector is missing or damaged'

/**
 * Converts the cause of a read error. A full disk and similar faults are not damage: those errors are returned
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
