import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/**
 * Whether the manifests for Kubernetes are such as it takes: by `kubernetes-validate`, which has its schemas with it. It comes from the
 * Python Package Index by `pip`, once, beside other temporary files; where it cannot be had that is said, and nothing is checked.
 */
const version = '1.37.0'
const installed = join(tmpdir(), `tidemark-kubernetes-validate-${version}-${userInfo().uid}`)

const missing = get()
if (missing !== null) {
  console.log(`left out: kubernetes-validate cannot be had here: ${missing}`)
  process.exit(0)
}
const files = globSync(join(import.meta.dirname, '..', 'deploy', 'kubernetes', '*.yaml'))
if (files.length === 0) throw new Error('there are no manifests in deploy/kubernetes')
const env = { PATH: process.env.PATH ?? '', PYTHONPATH: installed }
const { status } = spawnSync('python3', ['-m', 'kubernetes_validate', '--strict', ...files], { stdio: 'inherit', env })
process.exit(status ?? 1)

function get(): string | null {
  if (existsSync(installed)) return null
  const folder = mkdtempSync(`${installed}.`)
  try {
    const wanted = ['--quiet', '--target', folder, `kubernetes-validate==${version}`]
    execFileSync('python3', ['-m', 'pip', 'install', ...wanted], { stdio: ['ignore', 'ignore', 'pipe'] })
    if (!existsSync(installed)) renameSync(folder, installed)
    return null
  } catch (error) {
    return error instanceof Error ? error.message.split('\n')[0]! : String(error)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
