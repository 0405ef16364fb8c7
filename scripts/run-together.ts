import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { clearLeftovers } from '../test/support/leftovers.ts'

/**
 * `run-together.ts FILE…`: test files in one process, one after the other. What each has to load is loaded once, and is
 * warm for the next. A file is a test that has those of the file in it, with its hooks.
 */
for (const file of process.argv.slice(2)) {
  test(file, { timeout: Number.POSITIVE_INFINITY }, async (context) => {
    try {
      await import(pathToFileURL(resolve(file)).href)
    } finally {
      // After the hooks of the file.
      context.after(clearLeftovers)
    }
  })
}
