import { ConfigError } from '../config.ts'
import { storeFile } from '../data-folder.ts'
import { TidemarkError } from '../errors.ts'
import { UnusableStoreError } from '../storage/open-store.ts'

/** Exit codes: 0 done, 1 failed, 2 the command, its arguments or a setting were wrong. */
export const exitFailed = 1
export const exitMisused = 2

const blamesSettings = [ConfigError, UnusableStoreError]

const isStorageFull = (error: unknown): boolean =>
  ['storage_full', 'ENOSPC'].includes((error as { code?: string } | null)?.code ?? '')

/** A sentence, not a stack: what the operator can act on. What a setting is to blame for says so by its name. */
export function inWords(error: unknown): { readonly message: string; readonly exitCode: number } {
  if (blamesSettings.some((kind) => error instanceof kind)) {
    return { message: (error as Error).message, exitCode: exitMisused }
  }
  if (isStorageFull(error)) return { message: 'the disk is full: free up space, then try again', exitCode: exitFailed }
  if (error instanceof TidemarkError)
    return { message: error.message, exitCode: error.status === 400 ? exitMisused : exitFailed }
  const known = error as NodeJS.ErrnoException & { address?: string; port?: number; hostname?: string }
  const setting = (name: string, value: unknown, expected: string) => ({
    message: `${name} is ${JSON.stringify(value)}, but ${expected}`,
    exitCode: exitMisused,
  })
  if (known.syscall === 'mkdir') {
    return setting(
      'TIDEMARK_DATA_DIR',
      known.path,
      `it must be a folder that this user can create or write to (${known.code})`,
    )
  }
  if (known.code === 'EADDRINUSE') {
    return setting(
      'TIDEMARK_PORT',
      known.port,
      'that port is already in use: choose another one, or 0 for any free port',
    )
  }
  if (known.code === 'EACCES' && known.syscall === 'listen') {
    return setting('TIDEMARK_PORT', known.port, 'this user may not listen on it: it must be above 1023, or 0')
  }
  if (known.syscall === 'listen' || known.syscall === 'getaddrinfo') {
    return setting(
      'TIDEMARK_HOST',
      known.hostname ?? known.address,
      'it must be a host name or address of this machine',
    )
  }
  if (known.code === 'ERR_SQLITE_ERROR') {
    const message = `the database ${storeFile} in the data folder cannot be used: ${known.message}`
    return {
      message: `${message}; restore a backup (tidemark restore FOLDER --force), or set TIDEMARK_DATA_DIR to another folder`,
      exitCode: exitFailed,
    }
  }
  return { message: known.message ?? String(error), exitCode: exitFailed }
}
