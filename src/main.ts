import { runCommandLine } from './cli/command-line.ts'

/** Started by bin/tidemark.js. The only file that ends the process. */

// Every file that a command creates, including those that SQLite adds, is private to this user.
process.umask(0o077)
const outputs = [process.stdout, process.stderr]
let isLost = false
for (const output of outputs) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that closes the pipe early, such as `head`, has read enough.
    if (error.code === 'EPIPE') return
    if (!isLost && output !== process.stderr) {
      process.stderr.write(`tidemark: cannot write to standard output: ${error.code}\n`)
    }
    isLost = true
  })
}
process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
// A pipe takes only as much as its reader has room for. These writes wait for the rest.
await Promise.all(outputs.map((output) => new Promise((resolve) => output.write('', resolve))))
if (isLost) process.exitCode ||= 1
// Commands close what they open. A handle that a library still holds must not keep the process alive.
process.exit()
