import { randomUUID } from 'node:crypto'
import { link, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { adminTokenFile } from '../platform/data-folder.ts'
import { giveToOwner } from '../platform/folders.ts'
import { readRegularText } from '../platform/regular-file.ts'
import { hashKey, makeKey } from './keys.ts'

/** Only the hash is stored, as for every other key. */
const tokenPath = (dataDir: string) => join(dataDir, adminTokenFile)
/**
 * Stored behind the hash until the token has been shown, because the process may be killed between making and showing it.
 */
const untold = ' untold'

export interface AdminToken {
  readonly hash: string
  /** The token itself, if it was made now; it is not available again. */
  readonly made: string | null
  /** Whether the operator must still be told: the token was made now, or an earlier one may never have been shown. */
  readonly isUntold: boolean
}

/**
 * Returns the admin token: the configured one, else the one in the data folder, else a new one, which is in `made` this
 * once. If two processes make one at the same time, the first to write wins.
 */
export async function adminTokenOf(dataDir: string, set: string | null): Promise<AdminToken> {
  if (set !== null) return { hash: hashKey(set), made: null, isUntold: false }
  const kept = await readKept(dataDir)
  if (kept !== null) return kept
  const { secret, hash } = makeKey('admin')
  const whole = await writeBeside(dataDir, `${hash}${untold}`)
  try {
    // A link appears completely or not at all, so nobody reads a partly written file.
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

/** Called after the token was printed, so that later starts do not mention it. */
export async function adminTokenTold(dataDir: string, { hash }: Pick<AdminToken, 'hash'>): Promise<void> {
  // If the token was replaced meanwhile, it is left as it is.
  if ((await readKept(dataDir))?.hash === hash) await rename(await writeBeside(dataDir, hash), tokenPath(dataDir))
}

/** Replaces the stored token by a new one, for an operator who lost it. */
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
  const text = await readRegularText(tokenPath(dataDir)).catch((error: NodeJS.ErrnoException) => {
    // A token that exists but cannot be read must not be replaced.
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const [, hash, mark] = /^([0-9a-f]{64})( untold)?$/.exec(text.trim()) ?? []
  return hash === undefined ? null : { hash, made: null, isUntold: mark !== undefined }
}
