import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds } from './account/load.ts'

/**
 * `idle [SECONDS]`: what an instance on an empty folder takes while nobody asks it anything, started for the first time and
 * again, and what commands that only read take. Started as `npm run tidemark` does, because memory depends on the flags.
 * CPU time, so that a busy machine shows a little more of it and not much. Linux only: it reads /proc.
 */
/** A second reader of the store, which a busy start can need, is let go after a minute. */
const settleMs = 75_000
const rounds = 3
const commands = [
  '--version',
  '--help',
  'serve --help',
  'app list',
  'key list',
  'collector list',
  'admin list',
  'usage',
  'doctor',
  'openapi',
]

const begin = ['--max-semi-space-size=8', '--heap-growing-percent=50', join(import.meta.dirname, '../bin/tidemark.js')]

export async function run([seconds = '60']: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-idle-'))
  const env = {
    ...process.env,
    TIDEMARK_DATA_DIR: join(folder, 'data'),
    TIDEMARK_PORT: '0',
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
  }
  try {
    for (const start of ['first', 'second']) {
      const server = spawn(process.execPath, [...begin, 'serve'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
      const pid = server.pid!
      await once(server.stdout, 'data')
      const startCpu = cpuSeconds(pid)
      await sleep(settleMs)
      const before = cpuSeconds(pid)
      await sleep(Number(seconds) * 1000)
      const share = ((cpuSeconds(pid) - before) / Number(seconds)) * 100
      console.log(
        `${start} start: ${startCpu.toFixed(2)} s of CPU; idle: ${share.toFixed(2)} % of a core, ${memory(pid)}`,
      )
      server.kill()
      await once(server, 'exit')
    }
    for (const command of commands) {
      const took = Array.from({ length: rounds }, () => commandSeconds(command.split(' '), env))
      console.log(`${Math.min(...took).toFixed(2)} s of CPU  tidemark ${command}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function memory(pid: number): string {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mb = (name: string): string => (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)![1]) / 1024).toFixed(0)
  return `${mb('RssAnon')} MB of its own, ${mb('VmRSS')} MB with the pages of files that the system could drop`
}

/** The shell knows what its children took: the second line of `times`. */
function commandSeconds(args: readonly string[], env: NodeJS.ProcessEnv): number {
  const script = '"$@" >/dev/null 2>&1 || exit; times'
  const told = execFileSync('sh', ['-c', script, 'sh', process.execPath, ...begin, ...args], {
    env,
    encoding: 'utf8',
    cwd: tmpdir(),
  })
  const parts = [...told.split('\n')[1]!.matchAll(/(\d+)m([\d.]+)s/g)]
  return parts.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0)
}
