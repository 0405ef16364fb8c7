import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { clearLeftovers } from '../test/support/leftovers.ts'
import { cpuSecondsOfGroup } from './group-cpu.ts'

/**
 * `run-together.ts FILE…`: test files in one process, one after the other. What each has to load is loaded once, and is
 * warm for the next. A file is a test that has those of the file in it, with its hooks. What it used is told, with the
 * processes that it started: this one is the first of a group.
 */
for (const file of process.argv.slice(2)) {
  test(file, { timeout: Number.POSITIVE_INFINITY }, async (context) => {
    const usedBefore = cpuSecondsOfGroup(process.pid)
    try {
      await import(pathToFileURL(resolve(file)).href)
    } finally {
      // After the hooks of the file.
      context.after(() => {
        clearLeftovers()
        const used = cpuSecondsOfGroup(process.pid) - usedBefore
        console.log(`ℹ ${file} used ${used.toFixed(1)} s of CPU`)
      })
    }
  })
}
