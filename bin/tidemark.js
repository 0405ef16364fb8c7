#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=50
/**
 * Where `tidemark` begins: plain JavaScript, which an old Node can read too. That one hands over to the Node that npm
 * brought, with the same flags, arguments and signals, or says in a line how to get it.
 *
 * The flags of the first line are those of package.json. They keep the heap of every thread near what it holds: a long
 * import takes two thirds of the memory that it takes without them, and no more of the processor.
 */
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { isOldNode, refuseOldNode } from './need-node.js'

const self = realpathSync(fileURLToPath(import.meta.url))
const root = dirname(dirname(self))

// npm runs scripts in the package's folder; what a caller names is meant from where the caller stood.
const { npm_package_name: npmPackage, INIT_CWD: callersFolder } = process.env
if (npmPackage === 'tidemark' && callersFolder !== undefined && realpathSync(process.cwd()) === root) {
  process.chdir(callersFolder)
}

/** Beside this package's code, or above it where npm put what several packages need. */
const brought = [join(root, 'node_modules'), dirname(root)]
  .map((folder) => join(folder, 'node', 'bin', 'node'))
  .find((path) => existsSync(path))

if (!isOldNode) {
  keepMemorySmall()
  keepThreadsSmall()
  begin()
} else if (brought !== undefined) handOver(brought)
else refuseOldNode()

/**
 * glibc gives each thread an arena of its own, which keeps what was ever freed in it: with two for all of them a server of
 * 20,000 documents takes 357 MB instead of 402, at the same CPU. What is larger than a bound goes back to the system when it
 * is freed; but the bound rises to whatever was freed last, up to 32 MB, and from then on buffers of the index stay in the
 * arenas too. Where it is fixed at 1 MB the same server takes 30 MB less; at 128 kB the half megabyte of each portion of an
 * export would be mapped anew, a quarter of its CPU. With a fixed bound each thread also gives back what is free at the end
 * of its arena, from 128 kB on, and has it made anew for the next piece of a file; with 2 MB it does not. glibc reads the
 * variables when a process begins and never again, so a server begins once more, in its own place (40 ms). Where somebody
 * speaks to it by a channel, that would be lost.
 */
function keepMemorySmall() {
  if (process.platform !== 'linux' || !['serve', 'start'].includes(process.argv[2])) return
  if (process.env.MALLOC_ARENA_MAX !== undefined || process.channel !== undefined) return
  const args = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const sizes = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '1048576', MALLOC_TRIM_THRESHOLD_: '2097152' }
  process.execve(process.execPath, args, { ...process.env, ...sizes })
}

/**
 * Room for short-lived objects in every thread but this one: half of what the flag gives, which each of seven threads would
 * fill within minutes. The same requests took the same CPU with 4 MB as with 8, a seventh more with 2; the main thread needs
 * its 8. A flag is stronger than the `resourceLimits` of a worker, so it is the flag that changes, before the first begins.
 */
function keepThreadsSmall() {
  setFlagsFromString('--max-semi-space-size=4')
}

/**
 * What the runtime compiled is kept beside the packages, from the first file of TypeScript on: the next start is half of
 * the first, and need not even load what strips types. The shared temporary folder, its default place, is open to other
 * users. Where nothing can be written there, nothing is kept. The variable is for threads and child processes, which do
 * not take the setting over from here.
 */
function begin() {
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'tidemark')
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
  // An installed package has no src/: see scripts/make-package.ts.
  const built = new URL('../dist/main.js', import.meta.url)
  if (existsSync(join(root, 'src'))) import('../src/main.ts')
  else import(built.href)
}

function handOver(node) {
  const child = spawn(node, [...process.execArgv, self, ...process.argv.slice(2)], { stdio: 'inherit' })
  child.on('error', (error) => {
    console.error(`tidemark: ${node} cannot be run: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code === null ? 128 + (signal === 'SIGINT' ? 2 : 15) : code
  })
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  // A terminal sends Ctrl-C to both; a second one would end the child at once.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
}
