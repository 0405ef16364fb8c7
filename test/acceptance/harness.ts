import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freshStoreDatabase } from '../support/fresh-database.ts'
import { clearAtEnd } from '../support/leftovers.ts'
import { FakeEmbedding } from './fake-embedding.ts'

/**
 * Starts the real server as a child process and speaks to it as its users do: over HTTP and through the command line.
 * Acceptance tests import nothing of src/, so they say what is promised, whatever the inside looks like.
 *
 *   const server = await startServer()                     a fresh data folder, any free port, its own admin token
 *   const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
 *   const answer = await server.consumer(key, 'GET', '/v1/account')
 *   await server.restart()                                 the same data folder, again
 *
 * Child processes and data folders are cleaned up when the test file has ended; a suite need not do it.
 *
 * In tests vectors are made by an endpoint of the test's process, in next to no time, unless they say `env: builtInModel`.
 * Benchmarks, which use this too, have the built-in model as users do.
 *
 * With STORE=postgres every data folder has a database of its own beside it, on the server of TEST_DATABASE_URL: the
 * same tests then say the same of the other store.
 *
 * Other settings for a whole run: variables that start with ACCEPTANCE_ (ACCEPTANCE_TIDEMARK_LOG_LEVEL), which every
 * server and command gets without that beginning.
 */
export const adminToken = 'tma_acceptance-tests-only-0123456789'

const main = new URL('../../bin/tidemark.js', import.meta.url).pathname
/** Settings of a server that makes vectors itself, with the smaller model. */
export const builtInModel = { TIDEMARK_EMBEDDING_URL: '', TIDEMARK_EMBEDDING_MODEL: 'bge-small-en-v1.5' }
/** Settings of a server with its default models. */
export const usualModels = { TIDEMARK_EMBEDDING_URL: '', TIDEMARK_EMBEDDING_MODEL: '' }
/** Settings of a server that makes no vectors, for tests of many documents that are not about vectors. */
export const noVectors = { TIDEMARK_EMBEDDING_URL: 'http://127.0.0.1:9/v1', TIDEMARK_EMBEDDING_MODEL: 'none' }
const isTest = /(\.test|\/run-together)\.ts$/.test(process.argv[1] ?? '')
let endpoint: Promise<FakeEmbedding> | undefined
/** The embedding endpoint of all servers without another one. */
export function sharedEmbedding(): Promise<FakeEmbedding> {
  endpoint ??= new FakeEmbedding().start()
  return endpoint
}
const startsWithinMs = 60_000
const endsWithinMs = 30_000

export interface ServerOptions {
  /** Settings on top of the defaults of the harness. An empty text unsets one. */
  readonly env?: Readonly<Record<string, string>>
  /** Flags after `serve`. */
  readonly args?: readonly string[]
  /** An existing folder; a new one if absent. */
  readonly dataDir?: string
  /** The program; that of this tree if absent. */
  readonly main?: string
}

export interface Answer {
  /** Method and path, if known. */
  readonly asked?: { readonly method: string; readonly path: string }
  readonly status: number
  readonly headers: Headers
  /** The parsed body of a JSON answer, otherwise its text. As loosely typed as the result of JSON.parse. */
  readonly body: ReturnType<typeof JSON.parse>
  readonly text: string
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. A text or bytes are sent unchanged. */
  readonly body?: unknown
}

/** Settings that move a server's clock some days ahead. Node loads this module before any of Tidemark. */
export const daysLater = (days: number): Record<string, string> => ({
  NODE_OPTIONS: `--import data:text/javascript,const{now}=Date;Date.now=()=>now()+${days * 86_400_000}`,
})

/** The store of this run. Tests of behaviour that does not depend on the store run for only one of them. */
export const store = process.env.STORE === 'postgres' ? 'postgres' : 'sqlite'

const databases = new Map<string, Promise<string>>()

/** The settings that name the store of a data folder. */
export async function storeOf(dataDir: string): Promise<Record<string, string>> {
  if (store === 'sqlite') return {}
  let url = databases.get(dataDir)
  if (url === undefined) {
    url = freshStoreDatabase().then((made) => made.url)
    databases.set(dataDir, url)
  }
  return { TIDEMARK_DATABASE_URL: await url }
}

/** The environment of a child process: that of this process without TIDEMARK_*, then the settings of the run. */
async function environment(dataDir: string, own: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(process.env)) {
    if (value === undefined || name.startsWith('TIDEMARK_') || name.startsWith('NODE_TEST')) continue
    if (name.startsWith('ACCEPTANCE_')) env[name.slice('ACCEPTANCE_'.length)] = value
    else env[name] = value
  }
  const settings = {
    TIDEMARK_DATA_DIR: dataDir,
    TIDEMARK_PORT: '0',
    TIDEMARK_ADMIN_TOKEN: adminToken,
    // Connections of tests are idle when a server is stopped, and nobody uses them again.
    TIDEMARK_SHUTDOWN_DRAIN_MS: '0',
  }
  return { ...env, ...settings, ...(await storeOf(dataDir)), ...own }
}

/** Folders and processes that are removed with the test file, or with the process if several files share them. */
class Leftovers {
  readonly folders = new Set<string>()
  readonly children = new Set<ChildProcess>()

  clear(): void {
    for (const child of this.children) child.kill('SIGKILL')
    // A process that was just killed may still be writing.
    for (const folder of this.folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
    this.folders.clear()
  }
}
const ofFile = new Leftovers()
const ofProcess = new Leftovers()
clearAtEnd(() => ofFile.clear())
process.on('exit', () => ofProcess.clear())

/** A folder that is removed at the end of the test file. */
export const freshFolder = (): string => folderOf(ofFile)

function folderOf(leftovers: Leftovers): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-acceptance-'))
  leftovers.folders.add(folder)
  return folder
}

interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly dataDir?: string
  /** The working directory of the command. */
  readonly cwd?: string
  readonly input?: string
  /** Who runs it; only root can say another one. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

interface Ended {
  /** Null if a signal ended the process. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Running {
  readonly ended: Promise<Ended>
  /** Resolves when the output matches. Rejects with the whole output if the command ends before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  signal(signal: NodeJS.Signals): void
  kill9(): void
}

/** Runs the command line and waits for its end. */
export async function tidemark(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
  return (await startTidemark(args, options)).ended
}

/** Runs the command line. The test can end it earlier. */
export async function startTidemark(args: readonly string[], options: CommandOptions = {}): Promise<Running> {
  const env = await environment(options.dataDir ?? freshFolder(), options.env ?? {})
  const { cwd, user } = options
  const child = spawn(process.execPath, [main, ...args], { env, cwd, stdio: ['pipe', 'pipe', 'pipe'], ...user })
  ofFile.children.add(child)
  let stdout = ''
  let stderr = ''
  const watching = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
    for (const look of watching) look()
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
    for (const look of watching) look()
  })
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      ofFile.children.delete(child)
      resolve({ code, stdout, stderr })
    })
  })
  const printed = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(stdout) ?? pattern.exec(stderr)
        if (found === null) return
        watching.delete(look)
        resolve(found)
      }
      watching.add(look)
      look()
      ended.then(() => reject(new Error(`it ended without printing ${pattern}: ${stdout}${stderr}`)), reject)
    })
  return { ended, printed, signal: (signal) => child.kill(signal), kill9: () => child.kill('SIGKILL') }
}

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const server = new TestServer(options)
  await server.start()
  return server
}

let shared: Promise<TestServer> | undefined
/**
 * A server that all files in this process share, because most of a small file's time goes into a start and cold code. A
 * file uses its own dataset names and requests nothing about the whole instance. It may restart the server, but not
 * with other settings.
 */
export function sharedServer(): Promise<TestServer> {
  shared ??= (async () => {
    const server = new TestServer({ dataDir: folderOf(ofProcess), env: { TIDEMARK_LOG_LEVEL: 'warn' } }, ofProcess)
    await server.start()
    return server
  })()
  return shared
}

/** Another process on the store of a server, with its own data folder. */
export async function startBeside(server: TestServer, env: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  return startServer({ env: { ...(await storeOf(server.dataDir)), ...env } })
}

export class TestServer {
  readonly dataDir: string
  /** Changes with every start. */
  address = ''
  /** Standard output since the last start. */
  stdout = ''
  /** The log (JSON lines) since the last start. */
  stderr = ''
  #options: ServerOptions
  readonly #leftovers: Leftovers
  #child: ChildProcess | null = null
  #ended: Promise<number | null> = Promise.resolve(null)

  constructor(options: ServerOptions, leftovers: Leftovers = ofFile) {
    this.dataDir = options.dataDir ?? freshFolder()
    this.#options = options
    this.#leftovers = leftovers
  }

  /** Resolves when the address is printed. Rejects with the output if the process ends before. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#options = { ...this.#options, env: { ...this.#options.env, ...env } }
    this.stdout = ''
    this.stderr = ''
    const child = spawn(process.execPath, [this.#options.main ?? main, 'serve', ...(this.#options.args ?? [])], {
      env: await environment(this.dataDir, await this.#settings()),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#leftovers.children.add(child)
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text) => {
      this.stderr += text
    })
    this.#ended = new Promise((resolve) => {
      child.once('close', (code) => {
        this.#leftovers.children.delete(child)
        resolve(code)
      })
    })
    // A server that still runs after the tests must not keep their process alive. `#within` keeps it alive while a test
    // waits.
    child.unref()
    for (const pipe of [child.stdout, child.stderr]) (pipe as Socket).unref()
    this.address = await this.#within(
      startsWithinMs,
      new Promise<string>((resolve, reject) => {
        child.stdout.setEncoding('utf8').on('data', (text) => {
          this.stdout += text
          const printed = /^Tidemark serves (http:\S+)$/m.exec(this.stdout)
          if (printed !== null) resolve(printed[1]!)
        })
        child.once('close', (code) => {
          reject(new Error(`the server ended with code ${code} before it served: ${this.stdout}${this.stderr}`))
        })
      }),
    )
  }

  /** Waits for at most `ms`. Then the process is killed, and the test fails with the process's output. */
  async #within<T>(ms: number, awaited: Promise<T>): Promise<T> {
    let tooLate: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      tooLate = setTimeout(() => {
        this.signal('SIGKILL')
        reject(new Error(`waited ${ms} ms in vain: ${this.stdout}${this.stderr}`))
      }, ms)
    })
    try {
      return await Promise.race([awaited, late])
    } finally {
      clearTimeout(tooLate)
    }
  }

  /** The lines of the log as objects. Plain text from a failing command is left out. */
  get logs(): Record<string, unknown>[] {
    return this.stderr
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('tidemark: '))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  get pid(): number {
    return this.#child!.pid!
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** The exit code, once the process has ended; null if a signal ended it. */
  ended(): Promise<number | null> {
    return this.#within(endsWithinMs, this.#ended)
  }

  /** Stops the server in an orderly way. Returns the exit code. */
  async stop(): Promise<number | null> {
    this.signal('SIGTERM')
    return this.ended()
  }

  /** Kills the process without any chance to prepare. */
  async kill9(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended()
  }

  /** Stops the server, if it still runs, and starts it again on the same data. `env` changes settings permanently. */
  async restart(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.stop()
    await this.start(env)
  }

  /** A request without a credential, except one in `headers`. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    // Compression gains nothing on one machine.
    const headers = new Headers({ 'accept-encoding': 'identity', ...options.headers })
    const { body } = options
    let sent: string | Uint8Array<ArrayBuffer> | undefined
    if (body !== undefined) {
      sent = typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body)
      if (!headers.has('content-type')) headers.set('content-type', 'application/json')
    }
    const response = await fetch(new URL(path, this.address), {
      method,
      headers,
      ...(sent === undefined ? {} : { body: sent }),
    })
    const text = await response.text()
    const isJson = (response.headers.get('content-type') ?? '').startsWith('application/json') && text !== ''
    const { status, headers: answered } = response
    return { asked: { method, path }, status, headers: answered, body: isJson ? JSON.parse(text) : text, text }
  }

  admin(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.as(adminToken, method, path, body)
  }

  consumer(key: string, method: string, path: string, body?: unknown): Promise<Answer> {
    return this.as(key, method, path, body)
  }

  collector(key: string, method: string, path: string, body?: unknown): Promise<Answer> {
    return this.as(key, method, path, body)
  }

  /** A request with the given credential. */
  as(credential: string, method: string, path: string, body?: unknown): Promise<Answer> {
    return this.call(method, path, {
      headers: { authorization: `Bearer ${credential}` },
      ...(body === undefined ? {} : { body }),
    })
  }

  /** Like `admin`, for steps that a test requires. Throws with the answer for any status other than 2xx. */
  async mustAdmin(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.admin(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
    return answer.body
  }

  async makeDataset(datasetId: string, name: string = datasetId): Promise<void> {
    await this.mustAdmin('PUT', `/admin/v1/datasets/${datasetId}`, { name })
  }

  /** Makes an application with one key. Its policy allows fast tests unless they say otherwise. */
  async makeApplication(
    input: { readonly name?: string; readonly policy?: object; readonly entitlements?: readonly object[] } = {},
  ): Promise<{ readonly applicationId: string; readonly key: string; readonly keyId: string }> {
    const { name = 'test', policy = {}, entitlements = [] } = input
    if ('daily_quotas' in policy) await awayFromMidnight()
    const { application_id: applicationId } = await this.mustAdmin('POST', '/admin/v1/applications', {
      name,
      policy: { requests_per_second: 100_000, burst: 100_000, max_in_flight: 100_000, ...policy },
      entitlements,
    })
    return { applicationId, ...(await this.makeKey(applicationId)) }
  }

  async makeKey(
    applicationId: string,
    input: { readonly name?: string; readonly expires_at?: string } = {},
  ): Promise<{ readonly key: string; readonly keyId: string }> {
    const made = await this.mustAdmin('POST', `/admin/v1/applications/${applicationId}/keys`, input)
    return { key: made.api_key, keyId: made.key_id }
  }

  async makeCollector(
    input: { readonly name?: string; readonly datasets?: readonly string[] } = {},
  ): Promise<{ readonly collectorId: string; readonly key: string; readonly keyId: string }> {
    const made = await this.mustAdmin('POST', '/admin/v1/collectors', { name: 'test', ...input })
    return { collectorId: made.collector_id, key: made.collector_key, keyId: made.key_id }
  }

  /** Runs the command line on this server's data, in another process. */
  async tidemark(args: readonly string[], options: { readonly input?: string } = {}): ReturnType<typeof tidemark> {
    return tidemark(args, { ...options, dataDir: this.dataDir, env: await this.#settings() })
  }

  async #settings(): Promise<Readonly<Record<string, string>>> {
    if (!isTest) return this.#options.env ?? {}
    return { ...(await sharedEmbedding()).env, ...this.#options.env }
  }

  /** Sends bytes on a raw connection, for requests that no well-behaved client sends. Returns everything received. */
  raw(sent: string | Uint8Array): Promise<string> {
    const { hostname, port } = new URL(this.address)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      let got = ''
      socket.setEncoding('utf8').on('data', (text) => {
        got += text
      })
      // A server may close the connection before it has read everything. Its earlier output still counts.
      socket.on('error', (error) => (got === '' ? reject(error) : resolve(got)))
      socket.on('close', () => resolve(got))
      socket.write(sent)
    })
  }
}

/** Daily quotas start again at midnight UTC, so a test that counts them waits if midnight is near. */
async function awayFromMidnight(): Promise<void> {
  const day = 24 * 60 * 60_000
  const left = day - (Date.now() % day)
  if (left < 30_000) await delay(left)
}
