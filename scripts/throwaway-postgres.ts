import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { appendFileSync, chownSync, globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, unprivileged } from './throwaway-server.ts'

/**
 * A temporary PostgreSQL server from the installed package: in a new folder, on a free port, as an unprivileged user.
 * `remove` deletes it with everything in it.
 */
export interface ThrowawayPostgres {
  /** Its role may create databases. */
  readonly url: string
  /** Kills the server and starts it again, so that it recovers from its log. */
  crash(): Promise<void>
  remove(): Promise<void>
}

/** Returns the folder with the programs of the newest installed server; null if there is none. */
export function findPostgres(): string | null {
  const installed = globSync([
    '/usr/lib/postgresql/*/bin/postgres',
    '/usr/local/pgsql/bin/postgres',
    '/opt/homebrew/opt/postgresql@*/bin/postgres',
  ])
  const version = (path: string) => Number(/(\d+)/.exec(path)?.[1] ?? 0)
  return installed.sort((a, b) => version(b) - version(a))[0]?.replace(/\/postgres$/, '') ?? null
}

/**
 * With `durable: false` a commit does not wait for the disk: it survives a crash of the server, but not of the machine.
 * Without a `password`, clients need none.
 */
export async function throwawayPostgres(options: { durable: boolean; password?: string }): Promise<ThrowawayPostgres> {
  const bin = findPostgres()
  if (bin === null) throw new Error('no PostgreSQL server is installed here (Debian: apt-get install postgresql)')
  const folder = mkdtempSync('/tmp/tidemark-postgres-')
  const owner = unprivileged()
  if (owner !== null) chownSync(folder, owner.uid, owner.gid)
  const as = { ...(owner ?? {}), cwd: folder, env: { PATH: process.env.PATH ?? '', LC_ALL: 'C.UTF-8' } }
  const data = join(folder, 'data')
  const port = await freePort()
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, `${options.password ?? 'none'}\n`)
  const auth = options.password === undefined ? ['--auth=trust'] : ['--auth=scram-sha-256', `--pwfile=${passwordFile}`]
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'tidemark', ...auth, '-E', 'UTF8', '--no-sync'], as)
  // In the configuration file, so that a test can change it while the server runs.
  appendFileSync(join(data, 'postgresql.conf'), "archive_command = 'true'\n")
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=300',
    'archive_mode=on',
    'shared_buffers=256MB',
    ...(options.durable ? [] : ['fsync=off', 'full_page_writes=off']),
  ]
  const url = `postgres://tidemark@127.0.0.1:${port}/postgres`
  let server: ChildProcess | null = null
  const ended = (child: ChildProcess) => new Promise<void>((resolve) => child.once('exit', () => resolve()))

  /** Resolves to null when the server answers, or to its last output if it ends. */
  const startOnce = async (): Promise<string | null> => {
    const child = spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((one) => ['-c', one])], {
      ...as,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    server = child
    let output = ''
    child.stderr!.on('data', (part: Buffer) => {
      output = `${output}${part}`.slice(-2000)
    })
    for (;;) {
      try {
        execFileSync(join(bin, 'pg_isready'), ['-q', '-h', '127.0.0.1', '-p', String(port)], as)
        return null
      } catch {
        if (child.exitCode !== null) return `ended with ${child.exitCode}: ${output}`
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
  }
  /** After a kill, the server's child processes may run for a while, and it does not start until they have ended. */
  const start = async (limitMs: number): Promise<void> => {
    const started = Date.now()
    for (;;) {
      const failure = await startOnce()
      if (failure === null) return
      if (Date.now() - started > limitMs) throw new Error(`PostgreSQL ${failure}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (server === null || server.exitCode !== null || server.signalCode !== null) return
    const exited = ended(server)
    server.kill(signal)
    await exited
  }
  await start(0)
  return {
    url,
    async crash() {
      await end('SIGKILL')
      await start(120_000)
    },
    async remove() {
      await end('SIGINT')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
