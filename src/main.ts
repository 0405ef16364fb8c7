import { runCommandLine } from './cli/command-line.ts'

/** Begun by bin/tidemark.js. The only file that ends the process. */

// What any command makes, the files that SQLite keeps beside its own included, is for this user alone.
process.umask(0o077)
const outputs = [process.stdout, process.stderr]
let isLost = false
for (const output of outputs) {
  output.on('error', (error: NodeJS.ErrnoException) => {
    // Who reads no further, as `head`, has what it wanted.
    if (error.code === 'EPIPE') return
    if (!isLost && output !== process.stderr) {
      process.stderr.write(`tidemark: cannot write to standard output: ${error.code}\n`)
    }
    isLost = true
  })
}
process.exitCode = await runCommandLine(process.argv.slice(2), process.env)
// A pipe takes as much as its reader leaves room for: the rest is still here.
await Promise.all(outputs.map((output) => new Promise((resolve) => output.write('', resolve))))
if (isLost) process.exitCode ||= 1
// Commands close what they opened; a handle that some library still holds must not keep the process.
process.exit()
