/**
 * Compiles the sources of the search kernels and compares them with the compiled files beside them. Exits with 1 when
 * one differs. `--write` writes the compiled files instead. A name in braces is replaced by its number in the layout of
 * the kernel's memory.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import wabt from 'wabt'
import { keywordLayout, termLayout, vectorLayout } from '../src/storage/segments/query/kernel-layouts.ts'

const folder = new URL('../src/storage/segments/query/', import.meta.url)
const features = { threads: true, simd: true, relaxed_simd: true, multi_memory: true }
const assembler = await wabt()

const kernels = { 'keyword-kernel': keywordLayout, 'term-kernel': termLayout, 'vector-kernel': vectorLayout }
for (const [name, { names }] of Object.entries(kernels)) {
  const compiled = new URL(`${name}.wasm`, folder)
  const source = readFileSync(new URL(`${name}.wat`, folder), 'utf8').replace(/\{(\w+)\}/g, (_, field: string) => {
    const number = names[field]
    if (number === undefined) throw new Error(`${name}.wat names {${field}}, which kernel-layouts.ts does not have`)
    return String(number)
  })
  const bytes = Buffer.from(assembler.parseWat(`${name}.wat`, source, features).toBinary({}).buffer)
  // Throws if it is not valid.
  new WebAssembly.Module(bytes)
  if (process.argv.includes('--write')) writeFileSync(compiled, bytes)
  else if (!bytes.equals(readFileSync(compiled))) {
    console.error(`${name}.wasm differs from the compiled ${name}.wat; run: node scripts/check-kernel.ts --write`)
    process.exitCode = 1
  }
}
