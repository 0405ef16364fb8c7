import { runCommandLine } from './cli/command-line.ts'

/** Begun by bin/tidemark.js. The only file that ends the process. */

// What any command makes, the files that SQLite keeps beside its own included, is for this user alone.
process.umask(0o077)
process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
// Commands close what they opened; a handle that some library still holds must not keep the process.
process.exit()
