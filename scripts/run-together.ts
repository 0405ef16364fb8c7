import { type AsyncHook, createHook } from 'node:async_hooks'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { clearLeftovers } from '../test/support/leftovers.ts'
import { cpuSecondsOfGroup } from './group-cpu.ts'

/**
 * `run-together.ts FILE…` runs test files in one process, one after the other, so that common modules are loaded once.
 * Each file becomes a test that contains the tests and hooks of the file. Prints the CPU time of each file, including
 * the processes that it started: this process leads a process group.
 *
 * The test runner tracks every promise with an async hook, to know to which test it belongs. That is slow in tests that
 * await a lot. The runner needs it only while a file declares its tests, and to assign uncaught errors. An uncaught
 * error ends the process here, so promises are tracked only while a file is loaded.
 */
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => {
    console.error('Uncaught error, so no further test is run:', error)
    process.exit(1)
  })
}

const promiseHook = hookEnabledBy(() => {
  for (const file of process.argv.slice(2)) test(file, { timeout: Number.POSITIVE_INFINITY }, (one) => run(file, one))
})

async function run(file: string, context: test.TestContext): Promise<void> {
  const usedBefore = cpuSecondsOfGroup(process.pid)
  promiseHook.enable()
  try {
    await import(pathToFileURL(resolve(file)).href)
  } finally {
    promiseHook.disable()
    // Runs after the hooks of the file.
    context.after(() => {
      clearLeftovers()
      const used = cpuSecondsOfGroup(process.pid) - usedBefore
      console.log(`ℹ ${file} used ${used.toFixed(1)} s of CPU`)
    })
  }
}

/**
 * Returns the async hook of the test runner. The runner does not expose it, but enables it when the first test is
 * declared.
 */
function hookEnabledBy(declareTests: () => void): AsyncHook {
  const hooks = Object.getPrototypeOf(createHook({})) as AsyncHook
  const { enable } = hooks
  let enabled: AsyncHook | undefined
  hooks.enable = function () {
    enabled = this
    return enable.call(this)
  }
  try {
    declareTests()
  } finally {
    hooks.enable = enable
  }
  // Another version of Node may track promises in another way.
  return enabled ?? createHook({})
}
