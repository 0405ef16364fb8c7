/**
 * Compiles the sources of the search kernels and compares them with the compiled forms that are kept beside them. Exits
 * with 1 when one differs. `--write` keeps the new forms instead.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import wabt from 'wabt'

const folder = new URL('../src/storage/segments/query/', import.meta.url)
const features = { threads: true, simd: true, relaxed_simd: true, multi_memory: true }
const assembler = await wabt()

for (const name of ['keyword-kernel', 'term-kernel', 'vector-kernel']) {
  const compiled = new URL(`${name}.wasm`, folder)
  const source = readFileSync(new URL(`${name}.wat`, folder), 'utf8')
  const bytes = Buffer.from(assembler.parseWat(`${name}.wat`, source, features).toBinary({}).buffer)
  // Throws when it is not valid.
  new WebAssembly.Module(bytes)
  if (process.argv.includes('--write')) writeFileSync(compiled, bytes)
  else if (!bytes.equals(readFileSync(compiled))) {
    console.error(`${name}.wasm is not what ${name}.wat compiles to; run: node scripts/check-kernel.ts --write`)
    process.exitCode = 1
  }
}
