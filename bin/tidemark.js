#!/usr/bin/env node
/**
 * The entry point of `tidemark`. Plain JavaScript, so that an old Node can read it too. An old Node starts the Node
 * that npm installed, with the same flags, arguments and signals, or prints how to install it.
 */
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isOldNode, refuseOldNode } from './need-node.js'

const self = realpathSync(fileURLToPath(import.meta.url))
const root = dirname(dirname(self))

// npm runs scripts in the package's folder, but paths in the arguments are relative to the caller's folder.
const { npm_package_name: npmPackage, INIT_CWD: callersFolder } = process.env
if (npmPackage === 'tidemark' && callersFolder !== undefined && realpathSync(process.cwd()) === root) {
  process.chdir(callersFolder)
}

/** npm installs Node in this package's folder, or above it when several packages need it. */
const installedNode = [join(root, 'node_modules'), dirname(root)]
  .map((folder) => join(folder, 'node', 'bin', 'node'))
  .find((path) => existsSync(path))

/** Marks a process that was started by `handOver`. It is not a setting: it is deleted before the settings are read. */
const launched = 'TIDEMARK_LAUNCHED'

if (!isOldNode) {
  endWithLauncher()
  start()
} else if (installedNode !== undefined) handOver(installedNode)
else refuseOldNode()

/**
 * A launcher that is killed (SIGKILL) cannot pass on a signal, but its channel closes. The child then stops as after
 * SIGTERM. Otherwise a server without a parent would keep its port and its data folder.
 */
function endWithLauncher() {
  if (process.env[launched] === undefined) return
  delete process.env[launched]
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  // The channel must not keep the process alive.
  process.channel?.unref()
}

/**
 * Keeps compiled code beside the packages, so that the next start is faster and does not load the module that strips
 * types. The cache is not in the shared temporary folder, its default, because other users can write there. If the
 * folder is not writable, nothing is kept. Threads and child processes do not inherit the setting of this process, so
 * the environment variable is set for them.
 */
function start() {
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'tidemark')
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
  // An installed package has no src/: see scripts/make-package.ts.
  const built = new URL('../dist/main.js', import.meta.url)
  if (existsSync(join(root, 'src'))) import('../src/main.ts')
  else import(built.href)
}

function handOver(node) {
  const child = spawn(node, [...process.execArgv, self, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [launched]: '1' },
  })
  child.on('error', (error) => {
    console.error(`tidemark: ${node} cannot be run: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code === null ? 128 + (signal === 'SIGINT' ? 2 : 15) : code
  })
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  // A terminal sends Ctrl-C to both processes. A second SIGINT would end the child at once.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
}
