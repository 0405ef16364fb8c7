import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { floors } from '../scripts/floors.ts'

/** What docs/ says of the source is looked up in it. */
const root = join(import.meta.dirname, '..')
const architecture = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
const [folders = '', picture = ''] = Array.from(architecture.matchAll(/^```\n(.*?)^```$/gms), ([, block]) => block!)

test('the list of folders names each folder and file at the top of src, and nothing that is not there', () => {
  const inSrc = readdirSync(join(root, 'src'), { withFileTypes: true })
  const there = inSrc.flatMap((entry) => {
    if (entry.isFile()) return entry.name.endsWith('.test.ts') ? [] : entry.name
    if (entry.name !== 'storage') return `${entry.name}/`
    const below = readdirSync(join(root, 'src/storage'), { withFileTypes: true })
    return ['storage/', ...below.filter((one) => one.isDirectory()).map((one) => `storage/${one.name}/`)]
  })
  const lines = folders.slice(folders.indexOf('src/\n') + 5, folders.indexOf('console/')).split('\n')
  const named = lines.flatMap((line) =>
    (/^ {2}(?:[\w/-]+(?:\.ts|\/) ?)+/.exec(line)?.[0] ?? '').split(' ').filter(Boolean),
  )
  assert.deepEqual(named.toSorted(), there.toSorted())
})

test('the picture of the floors is that of the check', () => {
  const drawn = picture.trimEnd().split('\n').toReversed()
  assert.equal(drawn.length, floors.length)
  for (const [i, places] of floors.entries()) {
    // What is said of a floor stands after it.
    assert.match(drawn[i]!, new RegExp(`^${places.join(' {3}')}(?: {2,}\\S.*)?$`))
  }
})

test('documents name only files that are there', () => {
  const documents = globSync(['docs/**/*.md', 'src/**/README.md', 'README.md'], { cwd: root })
  const named = documents.flatMap((document) => {
    const text = readFileSync(join(root, document), 'utf8')
    const paths = text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|md|json|wat))`/g)
    return Array.from(paths, ([, path]) => ({ document, path: path! }))
  })
  assert.ok(named.length > 0)
  const isThere = (folder: string, path: string) => existsSync(join(root, folder, path))
  const missing = named.filter(
    ({ document, path }) => !['', 'src', dirname(document)].some((one) => isThere(one, path)),
  )
  assert.deepEqual(missing, [])
})
