import { randomUUID } from 'node:crypto'
import { link, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { adminTokenFile } from '../platform/data-folder.ts'
import { giveToOwner } from '../platform/folders.ts'
import { readRegularText } from '../platform/regular-file.ts'
import { hashKey, makeKey } from './keys.ts'

const tokenPath = (dataDir: string) => join(dataDir, adminTokenFile)
/**
 * Follows the hash in the file until the token has been shown, because the process may be killed before it shows it.
 */
const notYetShown = ' untold'

export interface AdminToken {
  readonly hash: string
  /** The token itself, if it was made now; it is not available again. */
  readonly made: string | null
  /** True for a new token, and for a stored one that may never have been shown. */
  readonly mustBeShown: boolean
}

/**
 * Returns the admin token: the configured one, else the one in the data folder, else a new one, which only this call
 * returns in `made`. If two processes make one at the same time, the first to write wins.
 */
export async function adminTokenOf(dataDir: string, configured: string | null): Promise<AdminToken> {
  if (configured !== null) return { hash: hashKey(configured), made: null, mustBeShown: false }
  const stored = await readStored(dataDir)
  if (stored !== null) return stored
  const { secret, hash } = makeKey('admin')
  const draft = await writeBeside(dataDir, `${hash}${notYetShown}`)
  try {
    // A link is atomic, so no process reads a partly written file.
    await link(draft, tokenPath(dataDir))
    return { hash, made: secret, mustBeShown: true }
  } catch (error) {
    const other = await readStored(dataDir)
    if (other === null) throw error
    return other
  } finally {
    await rm(draft, { force: true })
  }
}

/** Records that the token was printed, so that later starts do not mention it. */
export async function markAdminTokenShown(dataDir: string, { hash }: Pick<AdminToken, 'hash'>): Promise<void> {
  // A token that was replaced in the meantime has not been shown.
  if ((await readStored(dataDir))?.hash === hash) await rename(await writeBeside(dataDir, hash), tokenPath(dataDir))
}

/** Replaces the stored token with a new one, for an operator who lost it. */
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

async function readStored(dataDir: string): Promise<AdminToken | null> {
  const text = await readRegularText(tokenPath(dataDir)).catch((error: NodeJS.ErrnoException) => {
    // A token that exists but cannot be read must not be replaced.
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const [, hash, mark] = /^([0-9a-f]{64})( untold)?$/.exec(text.trim()) ?? []
  return hash === undefined ? null : { hash, made: null, mustBeShown: mark !== undefined }
}
