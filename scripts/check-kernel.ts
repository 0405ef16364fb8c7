/**
 * Compiles the vector kernel's source and compares it with the compiled form that is kept beside it. Exits with 1 when
 * they differ. `--write` keeps the new form instead.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import wabt from 'wabt'

const folder = new URL('../src/storage/segments/', import.meta.url)
const source = new URL('vector-kernel.wat', folder)
const compiled = new URL('vector-kernel.wasm', folder)

const assembler = await wabt()
const features = { threads: true, simd: true, multi_memory: true }
const module = assembler.parseWat('vector-kernel.wat', readFileSync(source, 'utf8'), features)
const bytes = Buffer.from(module.toBinary({}).buffer)
// Throws when it is not valid.
new WebAssembly.Module(bytes)

if (process.argv.includes('--write')) writeFileSync(compiled, bytes)
else if (!bytes.equals(readFileSync(compiled))) {
  console.error(
    'vector-kernel.wasm is not what vector-kernel.wat compiles to; run: node scripts/check-kernel.ts --write',
  )
  process.exitCode = 1
}
