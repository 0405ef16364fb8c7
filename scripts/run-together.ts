import { type AsyncHook, createHook } from 'node:async_hooks'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { clearLeftovers } from '../test/support/leftovers.ts'
import { cpuSecondsOfGroup } from './group-cpu.ts'

/**
 * `run-together.ts FILE…`: runs test files in one process, one after the other, so that common modules are loaded once.
 * Each file becomes a test that contains the tests of the file, with its hooks. Prints the CPU that it used, including
 * the processes that it started: this process leads a group.
 *
 * The test runner follows every promise to assign it to a test, which takes a fifth of the CPU of tests that await a
 * lot. It needs this while a file declares its tests, and for uncaught errors. Such an error ends the process here,
 * with its origin, so promises are only followed while a file is loaded.
 */
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => {
    console.error('Nobody caught this, so no further test is run:', error)
    process.exit(1)
  })
}

const following = hookEnabledBy(() => {
  for (const file of process.argv.slice(2)) test(file, { timeout: Number.POSITIVE_INFINITY }, (one) => run(file, one))
})

async function run(file: string, context: test.TestContext): Promise<void> {
  const usedBefore = cpuSecondsOfGroup(process.pid)
  following.enable()
  try {
    await import(pathToFileURL(resolve(file)).href)
  } finally {
    following.disable()
    // Runs after the hooks of the file.
    context.after(() => {
      clearLeftovers()
      const used = cpuSecondsOfGroup(process.pid) - usedBefore
      console.log(`ℹ ${file} used ${used.toFixed(1)} s of CPU`)
    })
  }
}

/** The async hook of the test runner, which it does not expose: it enables the hook when the first test is declared. */
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
  // Another version of Node follows promises in another way.
  return enabled ?? createHook({})
}
