import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

const source = join(import.meta.dirname, 'deploy-check')

/**
 * Builds the program of scripts/deploy-check, which does the file-only work of helm and docker compose. It is built
 * once, in the folder for temporary files, from the modules in its go.sum. Returns null if Go is missing. Throws if Go
 * cannot build it.
 */
export function deployCheck(): string | null {
  const installed = join(tmpdir(), `tidemark-deploy-check-${versionOfSource()}-${userInfo().uid}`)
  if (!existsSync(installed)) {
    if (spawnSync('go', ['version'], { stdio: 'ignore' }).error !== undefined) return null
    const folder = mkdtempSync(`${installed}.`)
    try {
      const program = join(folder, 'deploy-check')
      const env = { ...process.env, GOFLAGS: '', CGO_ENABLED: '0' }
      execFileSync('go', ['build', '-ldflags=-s -w', '-o', program, '.'], {
        cwd: source,
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      // Another process may have installed it meanwhile.
      if (!existsSync(installed)) renameSync(folder, installed)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  return join(installed, 'deploy-check')
}

/** A changed source is built again under another name. */
function versionOfSource(): string {
  const hash = createHash('sha256')
  for (const name of globSync('**/*.{go,mod,sum}', { cwd: source }).sort()) {
    hash.update(`${name}\n`).update(readFileSync(join(source, name)))
  }
  return hash.digest('hex').slice(0, 16)
}

/** The version of Kubernetes that manifests are rendered for. Helm's packages use an old one by default. */
const kubernetesVersion = '1.34.0'

export class Chart {
  readonly #program: string
  readonly folder: string

  constructor(program: string, folder: string) {
    this.#program = program
    this.folder = folder
  }

  /** Returns the message of a fault, or null. */
  lint(...args: readonly string[]): string | null {
    const { status, stdout, stderr } = this.#run(['lint', this.folder, ...args])
    return status === 0 ? null : `${stdout}${stderr}`
  }

  /** Returns the manifests of a release, or the message of an error. */
  render(release: string, ...args: readonly string[]): { readonly text: string } | { readonly refused: string } {
    const { status, stdout, stderr } = this.#run(['template', this.folder, '--release', release, ...args])
    if (status !== 0) return { refused: stderr }
    // Templates leave empty lines behind. No text in a manifest has empty lines.
    return { text: stdout.replaceAll(/^\s*\n/gm, '') }
  }

  #run(args: readonly string[]) {
    return spawnSync(this.#program, [...args, '--kube-version', kubernetesVersion], { encoding: 'utf8' })
  }
}
