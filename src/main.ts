import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Begun by bin/tidemark.js. The only file that ends the process. What the runtime compiled is kept beside the packages,
 * which halves the start (1.8 s of CPU to 0.7); the shared temporary folder, its default place, is open to other users.
 * Where nothing can be written there, nothing is kept. The variable is for the threads, which do not take the setting
 * over from here.
 */
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/tidemark', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)
// What any command makes, the files that SQLite keeps beside its own included, is for this user alone.
process.umask(0o077)
const { runCommandLine } = await import('./cli/command-line.ts')

process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
// Commands close what they opened; a handle that some library still holds must not keep the process.
process.exit()
