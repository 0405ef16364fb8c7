import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freshFolder } from './harness.ts'

const tree = fileURLToPath(new URL('../../', import.meta.url))

/** For each file below src/: the text to replace, and its replacement in the other version. */
type Edits = Readonly<Record<string, readonly [from: string, to: string]>>

/** Makes another version of the program: a copy of this tree with changes. Returns the path of its entry point. */
function otherVersion(edits: Edits): string {
  const copy = freshFolder()
  for (const name of readdirSync(tree)) {
    if (name === 'src' || name === 'bin') cpSync(join(tree, name), join(copy, name), { recursive: true })
    else symlinkSync(join(tree, name), join(copy, name))
  }
  for (const [file, [from, to]] of Object.entries(edits)) {
    const path = join(copy, 'src', file)
    const text = readFileSync(path, 'utf8')
    assert.ok(text.includes(from), `${file} has no ${from}`)
    writeFileSync(path, text.replace(from, to))
  }
  return join(copy, 'bin', 'tidemark.js')
}

/** Changes that every version in a test of upgrades needs, so that nobody has to wait for minutes. */
const impatience: Edits = { 'worker/remove-old-indexes.ts': ['unusedForMs = 10 * 60_000', 'unusedForMs = 2000'] }

/** A version whose rules of text analysis are called `rules`: it cannot use the index of another one. */
export const versionByRules = (rules: string, edits: Edits = {}): string =>
  otherVersion({ ...impatience, 'text/analysis-version.ts': ['`6/', `\`${rules}/`], ...edits })

/** The same, but it never fills an index. */
export const stuckVersion = (rules: string): string =>
  versionByRules(rules, {
    'indexing/feed-index.ts': [
      '  const applied = await',
      "  if (position > 0) throw new UnavailableError('stuck')\n  const applied = await",
    ],
  })
