import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Runs `work` with an empty folder for home, caches and temporary files, as on a user's server. Returns the files that
 * it left there.
 */
export async function leftInHome(work: () => Promise<unknown>): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-home-'))
  const names = { HOME: folder, XDG_CACHE_HOME: folder, TMPDIR: folder, CI: undefined }
  const before = Object.keys(names).map((name) => [name, process.env[name]] as const)
  try {
    for (const [name, value] of Object.entries(names)) setOrDelete(name, value)
    await work()
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } finally {
    for (const [name, value] of before) setOrDelete(name, value)
    rmSync(folder, { recursive: true, force: true })
  }
}

function setOrDelete(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
