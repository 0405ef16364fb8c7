#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=50
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * The only file that ends the process. What the runtime compiled is kept beside the packages, which halves the start
 * (1.8 s of CPU to 0.7); the shared temporary folder, its default place, is open to other users. Where nothing can be
 * written there, nothing is kept. The variable is for the threads, which do not take the setting over from here.
 *
 * The flags of the first line are those of package.json. They keep the heap of every thread near what it holds: a long
 * import takes two thirds of the memory that it takes without them, and no more of the processor.
 */
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/tidemark', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)
// What any command makes, the files that SQLite keeps beside its own included, is for this user alone.
process.umask(0o077)
const { runCommandLine } = await import('./cli/command-line.ts')

process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
// Commands close what they opened; a handle that some library still holds must not keep the process.
process.exit()
