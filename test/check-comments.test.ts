import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

const script = join(import.meta.dirname, '../scripts/check-comments.ts')

function faultsOf(tree: Record<string, string>): { status: number | null; faults: string[] } {
  const root = mkdtempSync(join(tmpdir(), 'tidemark-tree-'))
  try {
    for (const [file, text] of Object.entries(tree)) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      writeFileSync(join(root, file), text)
    }
    const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' })
    return { status, faults: stderr.split('\n').filter((line) => line !== '') }
  } finally {
    rmSync(root, { recursive: true })
  }
}

test('names of identifiers, strings, files, settings and placeholders are no fault', () => {
  const { status, faults } = faultsOf({
    'src/cli/words.ts': [
      '/**',
      ' * `splitWords` reads `language.code`, as `words.ts` and `docs/text.md` say.',
      ' * `npm run bench -- NAME` measures it, with `TIDEMARK_PORT` set.',
      ' */',
      "export const splitWords = { language: 'code', port: 'TIDEMARK_PORT' } // not `null`",
      'const none = null',
    ].join('\n'),
    'docs/text.md': '',
    'package.json': '{"scripts": {"bench": "npm run docs text md"}}',
  })
  assert.deepEqual(faults, [])
  assert.equal(status, 0)
})

for (const [where, text] of [
  ['a block', '/** Calls `oldName` first. */'],
  ['a long block', '/**\n * First.\n * Calls `oldName` first.\n */'],
  ['a line', '// Calls `oldName` first.'],
  ['the end of a line of code', 'const calls = 1 // `oldName`'],
] as const) {
  test(`a name that is not there is a fault: in ${where}`, () => {
    const { status, faults } = faultsOf({ 'src/cli/words.ts': `const first = 'Calls'\n${text}\n` })
    assert.deepEqual(faults, ['src/cli/words.ts:2 names `oldName`, but this repository has no word "oldName"'])
    assert.equal(status, 1)
  })
}

test('a name that only another comment has is a fault, and so is a file that is not there', () => {
  const { faults } = faultsOf({
    'src/cli/a.ts': '// `b.ts` has the rest: gone\nexport const a = 1',
    'test/b.test.ts': '// In `gone` and `a`, says gone.',
  })
  assert.deepEqual(faults, [
    'src/cli/a.ts:1 names `b.ts`, but this repository has no file b.ts',
    'test/b.test.ts:1 names `gone`, but this repository has no word "gone"',
  ])
})

for (const [word, text] of [
  ['Of', '/** Of a list, the first. `a` */'],
  ['What', '// What is first. `a`'],
  ['Whoever', '/**\n * Is `a`. Whoever asks gets it.\n */'],
  ['What', '/**\n * - What is `a`.\n */'],
] as const) {
  test(`a sentence that begins with ${word} is a fault: ${JSON.stringify(text)}`, () => {
    const { faults } = faultsOf({ 'src/cli/words.ts': `${text}\nconst a = 1` })
    assert.deepEqual(faults, [`src/cli/words.ts:1 has a sentence that begins with "${word}": begin with its subject`])
  })
}

test('a sentence may have these words inside it', () => {
  const text = '/**\n * Says what `a` is.\n * Whatever it is. A list of it, for whoever asks.\n */\nconst a = 1'
  assert.deepEqual(faultsOf({ 'src/cli/words.ts': text }).faults, [])
})

test('a tree of nothing does not pass', () => {
  assert.equal(faultsOf({}).status, 1)
})
