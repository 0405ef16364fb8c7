import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { adminTokenFile } from '../data-folder.ts'
import { giveToOwner } from '../give-to-owner.ts'
import { hashKey, makeKey } from './keys.ts'

/** Only the hash is kept, as for every other key. */
const tokenPath = (dataDir: string) => join(dataDir, adminTokenFile)

/**
 * The hash of the admin token: of the one that is set, else of the one kept in the data folder, else of a new one,
 * which is then in `made` for the only time. Of two processes that make one at once, the first to write wins.
 */
export async function adminTokenHash(
  dataDir: string,
  set: string | null,
): Promise<{ hash: string; made: string | null }> {
  if (set !== null) return { hash: hashKey(set), made: null }
  const kept = await readKept(dataDir)
  if (kept !== null) return { hash: kept, made: null }
  const { secret, hash } = makeKey('admin')
  const whole = await writeBeside(dataDir, hash)
  try {
    // A link appears whole or not at all: nobody reads a file that is made but not yet written.
    await link(whole, tokenPath(dataDir))
    return { hash, made: secret }
  } catch (error) {
    const other = await readKept(dataDir)
    if (other === null) throw error
    return { hash: other, made: null }
  } finally {
    await rm(whole, { force: true })
  }
}

/** A new token in place of the kept one; for the operator who lost it. */
export async function replaceAdminToken(dataDir: string): Promise<string> {
  const { secret, hash } = makeKey('admin')
  await rename(await writeBeside(dataDir, hash), tokenPath(dataDir))
  return secret
}

async function writeBeside(dataDir: string, hash: string): Promise<string> {
  const beside = `${tokenPath(dataDir)}.${randomUUID()}`
  await writeFile(beside, `${hash}\n`, { mode: 0o600, flag: 'wx' })
  await giveToOwner(dataDir, [beside])
  return beside
}

async function readKept(dataDir: string): Promise<string | null> {
  const text = await readFile(tokenPath(dataDir), 'utf8').catch((error: NodeJS.ErrnoException) => {
    // One that is there and cannot be read is not to be replaced.
    if (error.code === 'ENOENT') return ''
    throw error
  })
  return /^[0-9a-f]{64}$/.test(text.trim()) ? text.trim() : null
}
