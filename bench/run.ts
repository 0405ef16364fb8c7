import { globSync } from 'node:fs'

/** `npm run bench -- NAME [ARGUMENTS…]` runs bench/NAME.ts. */
const [name, ...rest] = process.argv.slice(2)
const names = globSync('*.ts', { cwd: import.meta.dirname })
  .map((file) => file.replace('.ts', ''))
  .filter((one) => one !== 'run')
  .sort()
if (name === undefined || !names.includes(name)) {
  console.error(`npm run bench -- NAME, with one of: ${names.join(', ')}`)
  process.exit(2)
}
const { run } = (await import(`./${name}.ts`)) as { run: (args: readonly string[]) => Promise<void> }
// An idle model does not keep the process alive. Without this timer, a benchmark that waits for a model would exit.
const keepAlive = setInterval(() => {}, 60_000)
await run(rest)
clearInterval(keepAlive)
process.exit(0)
