import type { StatsFs } from 'node:fs'
import { stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { reserveFile } from './data-folder.ts'
import { TidemarkError } from './errors.ts'
import type { Measures } from './measures.ts'

type Blocks = Pick<StatsFs, 'bavail' | 'blocks' | 'bsize'>

/** Below this, even a small transaction and its write-ahead log may not fit. */
const fullBelowBytes = 2 ** 20
const lowBelowBytes = 500 * 2 ** 20
const lowBelowShare = 0.05

const freeBytes = ({ bavail, bsize }: Blocks): number => bavail * bsize

export const isDiskFull = (blocks: Blocks): boolean => freeBytes(blocks) < fullBelowBytes

/** An operator has to free space first, so earlier retries would fail. */
export const storageFullRetrySeconds = 30

/** The error for a write that finds no space. */
export function storageFull(cause: unknown): TidemarkError {
  return new TidemarkError(
    'storage_full',
    'the disk is full: nothing can be stored until there is space again; reads still work',
    { retryAfterSeconds: storageFullRetrySeconds, cause },
  )
}

/**
 * The size of the file that the embedded store keeps in the data folder and deletes so that keys can be revoked on a
 * full disk.
 */
export const reserveBytes = 2 ** 20
/** The space that revoking a few keys takes. */
const reserveNeededBytes = 2 ** 18

export const reserveSpent = 'the reserve is used up: keys cannot be revoked while the disk is full'

export interface DiskSpace {
  readonly state: 'enough' | 'low' | 'full'
  /** For example "12.3 GiB free". */
  readonly free: string
  /** Whether too little of the reserve is left to revoke keys on a full disk. False if there is no reserve. */
  readonly isReserveSpent: boolean
}

/** Returns the free space on the disk of a folder. */
export async function diskSpace(folder: string): Promise<DiskSpace> {
  const blocks = await statfs(folder)
  const bytes = freeBytes(blocks)
  const isLow = bytes < lowBelowBytes || bytes < blocks.blocks * blocks.bsize * lowBelowShare
  const reserve = await stat(join(folder, reserveFile)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return {
    state: isDiskFull(blocks) ? 'full' : isLow ? 'low' : 'enough',
    free: inWords(bytes),
    isReserveSpent: reserve !== null && reserve.size < reserveNeededBytes,
  }
}

export function measureDisk(measures: Measures, folder: string): void {
  const series = {
    tidemark_disk_free_bytes: 'Free space on the disk of the data folder.',
    tidemark_disk_bytes: 'Size of the disk of the data folder.',
  }
  measures.gauges(series, async () => {
    const blocks = await statfs(folder)
    return { tidemark_disk_free_bytes: freeBytes(blocks), tidemark_disk_bytes: blocks.blocks * blocks.bsize }
  })
}

function inWords(bytes: number): string {
  return bytes >= 2 ** 30 ? `${(bytes / 2 ** 30).toFixed(1)} GiB free` : `${Math.floor(bytes / 2 ** 20)} MiB free`
}
