import { type AsyncHook, createHook } from 'node:async_hooks'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { clearLeftovers } from '../test/support/leftovers.ts'
import { cpuSecondsOfGroup } from './group-cpu.ts'

/**
 * `run-together.ts FILE…`: test files in one process, one after the other. What each has to load is loaded once, and is
 * warm for the next. A file is a test that has those of the file in it, with its hooks. What it used is told, with the
 * processes that it started: this one is the first of a group.
 *
 * The test runner follows every promise, to know which test something belongs to: a fifth of the CPU of tests that await
 * much. It needs to know while a file says which tests it has, and for errors that nobody caught. Such an error ends the
 * process here, with where it was thrown, so promises are followed only while a file is loaded.
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
    // After the hooks of the file.
    context.after(() => {
      clearLeftovers()
      const used = cpuSecondsOfGroup(process.pid) - usedBefore
      console.log(`ℹ ${file} used ${used.toFixed(1)} s of CPU`)
    })
  }
}

/** That of the test runner, which nobody is given: it enables it when it hears of the first test. */
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
  // Of another version of Node, which follows in another way.
  return enabled ?? createHook({})
}
