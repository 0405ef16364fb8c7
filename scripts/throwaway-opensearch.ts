import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, unprivileged } from './throwaway-server.ts'

/**
 * A temporary OpenSearch cluster: one node or several, on free local ports, without TLS and users. `remove` deletes it
 * with everything in it. `mvn` downloads it from Maven Central. It is unpacked once, in the folder for temporary
 * files. It has no native libraries, so `lucene` is the only vector engine that works.
 */
export interface ThrowawayOpenSearch {
  readonly urls: readonly string[]
  /** Kills a node, as if its machine had failed. */
  kill(node: number): Promise<void>
  /** Stops the process of a node, with its connections open, until `thaw`. */
  freeze(node: number): void
  thaw(node: number): void
  /** Restarts a node with its data. */
  restart(node: number): Promise<void>
  remove(): Promise<void>
}

const version = '3.6.0'
const java = { oldest: 21, paths: ['/usr/lib/jvm/*', '/opt/java/*', '/opt/homebrew/opt/openjdk*'] }
/** The checksums are ours, because the publisher has none for the plugin. */
const artifacts = [
  {
    coordinates: `org.opensearch.distribution.integ-test-zip:opensearch:${version}:zip`,
    file: `opensearch-${version}.zip`,
    sha256: 'a91faa1dc1cadc78cb278b4f63847e19e1627a4e9de698e14e7efc14ee37b286',
  },
  {
    coordinates: `org.opensearch.plugin:opensearch-knn:${version}.0:zip`,
    file: `opensearch-knn-${version}.0.zip`,
    sha256: 'ac392ca28a39b3bf290648a422ef30cb149dda2963a9d7feb26060e932341c9a',
  },
]
/** The query `hybrid`, only for benchmarks: the product does not use it. */
const neuralSearch = {
  coordinates: `org.opensearch.plugin:neural-search:${version}.0:zip`,
  file: `neural-search-${version}.0.zip`,
  sha256: '6ef1b206e79391e2e36268e32dc34d27fd8b8a59a8eb0a7393c97d53b038e433',
}

/** Returns the first missing requirement of a cluster; null if there is none. */
function missingForOpenSearch(installed: string): string | null {
  if (findJavaHome() === null) return `a JDK from ${java.oldest} on (found by JAVA_HOME, or below /usr/lib/jvm)`
  if (existsSync(installed)) return null
  try {
    execFileSync('mvn', ['--version'], { stdio: 'ignore' })
    return null
  } catch {
    return 'mvn, which downloads OpenSearch'
  }
}

/** Installs it if needed. Returns what is missing for that; null if nothing is. */
export function getOpenSearch(): string | null {
  const missing = missingForOpenSearch(installedAt(false))
  if (missing !== null) return missing
  try {
    install(findJavaHome()!, false)
    return null
  } catch (error) {
    return `way to download it: ${error instanceof Error ? error.message.split('\n')[0] : error}`
  }
}

function findJavaHome(): string | null {
  const homes = [process.env.JAVA_HOME ?? [], globSync(java.paths)].flat()
  const newest = homes
    .map((home) => ({ home, version: javaVersion(home) }))
    .filter((one) => one.version >= java.oldest)
    .sort((a, b) => b.version - a.version)
  return newest[0]?.home ?? null
}

/** Returns 0 if there is no Java, or no `jar`, which unpacks archives and comes with a JDK. */
function javaVersion(home: string): number {
  try {
    if (!existsSync(join(home, 'bin', 'jar'))) return 0
    return Number(/^JAVA_VERSION="(\d+)/m.exec(readFileSync(join(home, 'release'), 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** All clusters of this user share it. It is moved into place as a whole. */
const installedAt = (hybrid: boolean): string =>
  join(tmpdir(), `tidemark-opensearch-${version}${hybrid ? '-hybrid' : ''}-${userInfo().uid}`)

function install(javaHome: string, hybrid: boolean): void {
  const installed = installedAt(hybrid)
  if (existsSync(installed)) return
  const [distribution, ...plugins] = hybrid ? [...artifacts, neuralSearch] : artifacts
  const folder = mkdtempSync(`${installed}.`)
  chmodSync(folder, 0o755)
  for (const { coordinates, file, sha256 } of [distribution!, ...plugins]) {
    const copy = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy'
    const options = [`-Dartifact=${coordinates}`, `-DoutputDirectory=${folder}`]
    execFileSync('mvn', ['-q', '-B', copy, ...options], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    const sum = createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex')
    if (sum !== sha256) throw new Error(`${coordinates} has changed: its SHA-256 is ${sum}`)
  }
  execFileSync(join(javaHome, 'bin', 'jar'), ['-xf', distribution!.file], { cwd: folder })
  const home = join(folder, `opensearch-${version}`)
  for (const file of globSync(join(home, 'bin', '*'))) chmodSync(file, 0o755)
  execFileSync(
    join(home, 'bin', 'opensearch-plugin'),
    ['install', '--batch', ...plugins.map(({ file }) => `file://${join(folder, file)}`)],
    { env: { PATH: process.env.PATH ?? '', OPENSEARCH_JAVA_HOME: javaHome }, stdio: 'ignore' },
  )
  execFileSync('chmod', ['-R', 'a+rX', folder])
  try {
    renameSync(folder, installed)
  } catch (error) {
    // Another process has installed it meanwhile.
    rmSync(folder, { recursive: true, force: true })
    if (!existsSync(installed)) throw error
  }
}

export async function throwawayOpenSearch(options: {
  readonly nodes: number
  readonly heapMb?: number
  /** Adds the query `hybrid`. */
  readonly hybrid?: boolean
  /** Settings of each node, in addition to the necessary ones. */
  readonly settings?: Readonly<Record<string, unknown>>
  /** Compiles less at the start, for tests that need little speed afterwards. */
  readonly startsQuickly?: boolean
}): Promise<ThrowawayOpenSearch> {
  const { hybrid = false, heapMb = 1024, startsQuickly = false } = options
  const installed = installedAt(hybrid)
  const home = join(installed, `opensearch-${version}`)
  const missing = missingForOpenSearch(installed)
  if (missing !== null) throw new Error(`OpenSearch cannot be started here, because there is no ${missing}`)
  const javaHome = findJavaHome()!
  install(javaHome, hybrid)
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-opensearch-'))
  chmodSync(folder, 0o755)
  const owner = unprivileged()
  const ports = await Promise.all(Array.from({ length: 2 * options.nodes }, freePort))
  const nodes = Array.from({ length: options.nodes }, (_, i) => ({
    name: `node${i + 1}`,
    folder: join(folder, `node${i + 1}`),
    port: ports[2 * i]!,
    transport: ports[2 * i + 1]!,
    process: null as ChildProcess | null,
  }))
  for (const node of nodes) {
    const jvm = [`-Xms${heapMb}m`, `-Xmx${heapMb}m`, ...(startsQuickly ? ['-XX:TieredStopAtLevel=1'] : [])]
    configure(home, node.folder, jvm, {
      'cluster.name': basename(folder),
      'node.name': node.name,
      'path.data': join(node.folder, 'data'),
      'path.logs': join(node.folder, 'logs'),
      'network.host': '127.0.0.1',
      'http.port': node.port,
      'transport.port': node.transport,
      'discovery.seed_hosts': nodes.map(({ transport }) => `127.0.0.1:${transport}`),
      'cluster.initial_cluster_manager_nodes': nodes.map(({ name }) => name),
      // The free space of this machine's disk does not matter to the code under test.
      'cluster.routing.allocation.disk.threshold_enabled': false,
      ...options.settings,
    })
    if (owner !== null) execFileSync('chown', ['-R', `${owner.uid}:${owner.gid}`, node.folder])
  }
  const start = (node: (typeof nodes)[number]): void => {
    node.process = spawn(join(home, 'bin', 'opensearch'), [], {
      ...(owner ?? {}),
      cwd: home,
      stdio: 'ignore',
      env: {
        PATH: process.env.PATH ?? '',
        OPENSEARCH_JAVA_HOME: javaHome,
        OPENSEARCH_PATH_CONF: join(node.folder, 'config'),
        OPENSEARCH_TMPDIR: join(node.folder, 'tmp'),
        HOME: node.folder,
      },
    })
  }
  const end = async (node: (typeof nodes)[number], signal: NodeJS.Signals): Promise<void> => {
    const child = node.process
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  const urls = nodes.map(({ port }) => `http://127.0.0.1:${port}`)
  const remove = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => end(node, 'SIGKILL')))
    rmSync(folder, { recursive: true, force: true })
  }
  nodes.forEach(start)
  try {
    await Promise.all(urls.map((url, i) => untilHealthy(url, options.nodes, nodes[i]!)))
  } catch (error) {
    await remove()
    throw error
  }
  return {
    urls,
    kill: (node) => end(nodes[node]!, 'SIGKILL'),
    freeze: (node) => void nodes[node]!.process!.kill('SIGSTOP'),
    thaw: (node) => void nodes[node]!.process!.kill('SIGCONT'),
    async restart(node) {
      start(nodes[node]!)
      await untilHealthy(urls[node]!, options.nodes, nodes[node]!)
    },
    remove,
  }
}

/** The start takes a minute on a quiet machine, and several on a busy one. */
const startMs = 600_000

/** Waits until the node sees this many nodes, and has all shards. */
async function untilHealthy(
  url: string,
  nodes: number,
  { folder, process: child }: { readonly folder: string; readonly process: ChildProcess | null },
): Promise<void> {
  const until = Date.now() + startMs
  for (;;) {
    const health = await fetch(`${url}/_cluster/health?wait_for_nodes=${nodes}&wait_for_status=green&timeout=10s`).then(
      async (answer) => (await answer.json()) as { timed_out?: boolean },
      () => null,
    )
    if (health?.timed_out === false) return
    const hasEnded = child!.exitCode !== null || child!.signalCode !== null
    if (hasEnded || Date.now() > until) {
      const logs = globSync(join(folder, 'logs', '*.log')).map((log) => readFileSync(log, 'utf8').slice(-2000))
      throw new Error(`OpenSearch ${hasEnded ? 'ended' : 'did not start'}: ${logs.join('\n')}`)
    }
    await sleep(300)
  }
}

function configure(
  home: string,
  folder: string,
  jvm: readonly string[],
  settings: Readonly<Record<string, unknown>>,
): void {
  for (const name of ['data', 'logs', 'tmp']) mkdirSync(join(folder, name), { recursive: true })
  const config = join(folder, 'config')
  cpSync(join(home, 'config'), config, { recursive: true })
  const lines = Object.entries(settings).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`)
  writeFileSync(join(config, 'opensearch.yml'), lines.join(''))
  const options = join(config, 'jvm.options')
  const changed = readFileSync(options, 'utf8')
    .replaceAll(/^-Xm[sx]1g/gm, '')
    .replaceAll(/=data$/gm, `=${join(folder, 'data')}`)
    .replaceAll(/\blogs\/(?=hs_err|gc)/g, `${join(folder, 'logs')}/`)
  writeFileSync(options, `${changed}\n${jvm.join('\n')}\n`)
}
