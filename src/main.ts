import { runCommandLine } from './cli/command-line.ts'

/** The entry point, which bin/tidemark.js loads. */

// Every file that a command creates, including those that SQLite adds, is private to this user.
process.umask(0o077)
const outputs = [process.stdout, process.stderr]
let isLost = false
for (const output of outputs) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    // Not an error: a reader such as `head` closes the pipe early because it has read enough.
    if (error.code === 'EPIPE') return
    if (!isLost && output !== process.stderr) {
      process.stderr.write(`tidemark: cannot write to standard output: ${error.code}\n`)
    }
    isLost = true
  })
}
process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
// These empty writes wait until everything before them is written, because a pipe may be full.
await Promise.all(outputs.map((output) => new Promise((resolve) => output.write('', resolve))))
if (isLost) process.exitCode ||= 1
// Commands close what they open. A handle that a library still holds must not keep the process alive.
process.exit()
