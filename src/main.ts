#!/usr/bin/env node
import { runCommandLine } from './cli/command-line.ts'

/** The only file that ends the process. */
process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
// Commands close what they opened; a handle that some library still holds must not keep the process.
process.exit()
