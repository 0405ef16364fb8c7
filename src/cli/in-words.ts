import { storeFile } from '../platform/data-folder.ts'
import { TidemarkError } from '../platform/errors.ts'
import { ConfigError } from '../settings/config.ts'
import { UnusableStoreError } from '../storage/open-store.ts'
import { adviceOtherThanRestore, isSqliteError } from '../storage/sqlite-advice.ts'

/** Exit codes: 0 done; 1 failed; 2 the command, its arguments or a setting were wrong. */
export const exitFailed = 1
export const exitMisused = 2

const blamesSettings = [ConfigError, UnusableStoreError]

const isStorageFull = (error: unknown): boolean =>
  ['storage_full', 'ENOSPC'].includes((error as { code?: string } | null)?.code ?? '')

const ofAnotherUser = 'run this as the user that owns it, or give this user permission for it and for its folders'
/** Why a file cannot be used. In each of these cases it is intact. */
const whyUnusable: Readonly<Record<string, string>> = {
  EACCES: ofAnotherUser,
  EPERM: ofAnotherUser,
  EROFS: 'its disk is mounted read-only',
}

/** Returns a sentence that an operator can act on, without a stack. If a setting is wrong, the sentence names it. */
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
  const unusable = known.path === undefined ? undefined : whyUnusable[known.code ?? '']
  if (unusable !== undefined) {
    return { message: `${known.path} cannot be used (${known.code}): ${unusable}`, exitCode: exitFailed }
  }
  if (isSqliteError(error)) {
    const advice =
      adviceOtherThanRestore(error) ??
      'restore a backup (tidemark restore FOLDER --force), or set TIDEMARK_DATA_DIR to another folder'
    return {
      message: `the database ${storeFile} in the data folder cannot be used: ${error.message}; ${advice}`,
      exitCode: exitFailed,
    }
  }
  return { message: known.message ?? String(error), exitCode: exitFailed }
}
