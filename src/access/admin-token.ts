import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { adminTokenFile } from '../data-folder.ts'
import { giveToOwner } from '../give-to-owner.ts'
import { hashKey, makeKey } from './keys.ts'

/** Only the hash is kept, as for every other key. */
const tokenPath = (dataDir: string) => join(dataDir, adminTokenFile)
/** Stands behind the hash until somebody was told of the token: a process may be killed between making and showing it. */
const untold = ' untold'

export interface AdminToken {
  readonly hash: string
  /** The token, the only time that it is known. */
  readonly made: string | null
  /** Whoever starts this process is to be told: of the one that was made, or that there is one nobody may have seen. */
  readonly isUntold: boolean
}

/**
 * The admin token: the one that is set, else the one kept in the data folder, else a new one, which is then in `made` for
 * the only time. Of two processes that make one at once, the first to write wins.
 */
export async function adminTokenOf(dataDir: string, set: string | null): Promise<AdminToken> {
  if (set !== null) return { hash: hashKey(set), made: null, isUntold: false }
  const kept = await readKept(dataDir)
  if (kept !== null) return kept
  const { secret, hash } = makeKey('admin')
  const whole = await writeBeside(dataDir, `${hash}${untold}`)
  try {
    // A link appears whole or not at all: nobody reads a file that is made but not yet written.
    await link(whole, tokenPath(dataDir))
    return { hash, made: secret, isUntold: true }
  } catch (error) {
    const other = await readKept(dataDir)
    if (other === null) throw error
    return other
  } finally {
    await rm(whole, { force: true })
  }
}

/** To be called when it was printed, so that later starts are silent about it. */
export async function adminTokenTold(dataDir: string, { hash }: Pick<AdminToken, 'hash'>): Promise<void> {
  // One that has been replaced meanwhile is left as it is.
  if ((await readKept(dataDir))?.hash === hash) await rename(await writeBeside(dataDir, hash), tokenPath(dataDir))
}

/** A new token in place of the kept one; for the operator who lost it. */
export async function replaceAdminToken(dataDir: string): Promise<string> {
  const { secret, hash } = makeKey('admin')
  await rename(await writeBeside(dataDir, hash), tokenPath(dataDir))
  return secret
}

async function writeBeside(dataDir: string, content: string): Promise<string> {
  const beside = `${tokenPath(dataDir)}.${randomUUID()}`
  await writeFile(beside, `${content}\n`, { mode: 0o600, flag: 'wx' })
  await giveToOwner(dataDir, [beside])
  return beside
}

async function readKept(dataDir: string): Promise<AdminToken | null> {
  const text = await readFile(tokenPath(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    // One that is there and cannot be read is not to be replaced.
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const [, hash, mark] = /^([0-9a-f]{64})( untold)?$/.exec(text.trim()) ?? []
  return hash === undefined ? null : { hash, made: null, isUntold: mark !== undefined }
}
