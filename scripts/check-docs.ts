import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as dataFolder from '../src/data-folder.ts'
import { errorTable } from '../src/errors.ts'
import { floors } from './floors.ts'

/**
 * What documents say of the source is looked up in it: the list of folders, the picture of the floors and the table of
 * the data folder in docs/architecture.md, the table of docs/errors.md, and every file that a document names.
 */
const root = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')
const architecture = textOf('docs/architecture.md')
const blocks = architecture.matchAll(/^```\n(.*?)^```$/gms)
const [folders = '', picture = ''] = Array.from(blocks, ([, block]) => block!)
const faults: string[] = []

/** The top of src, and the technologies of storage. */
const there = new Set(
  globSync(['src/*.ts', 'src/*/', 'src/storage/*/'], { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .map((path) => path.slice('src/'.length) + (path.endsWith('.ts') ? '' : '/')),
)
const listed = folders.slice(folders.indexOf('src/\n') + 'src/\n'.length, folders.indexOf('console/')).split('\n')
const named = new Set(
  listed.flatMap((line) => (/^ {2}(?:[\w/-]+(?:\.ts|\/) ?)+/.exec(line)?.[0] ?? '').split(' ').filter(Boolean)),
)
for (const one of there.difference(named)) faults.push(`the list of folders in docs/architecture.md lacks ${one}`)
for (const one of named.difference(there)) faults.push(`docs/architecture.md lists ${one}, which is not there`)

// What is said of a floor stands after its places.
const drawn = picture.trimEnd().split('\n').toReversed()
for (const [i, places] of floors.entries()) {
  if (!new RegExp(`^${places.join(' {3}')}(?: {2,}\\S.*)?$`).test(drawn[i] ?? '')) {
    faults.push(`docs/architecture.md does not draw the floor ${places.join(', ')} as scripts/floors.ts has it`)
  }
}
if (drawn.length !== floors.length) faults.push('docs/architecture.md draws more floors, or fewer, than there are')

for (const name of Object.values(dataFolder)) {
  if (typeof name !== 'string' || name.startsWith('.')) continue
  if (!architecture.includes(`| \`${name}`) && !architecture.includes(`, \`${name}`)) {
    faults.push(`docs/architecture.md does not say what ${name} in the data folder is`)
  }
}

const errorRows = new Set(textOf('docs/errors.md').match(/^\| `.*$/gm))
for (const [code, { status, retryable, remedy }] of Object.entries(errorTable)) {
  const row = `| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${remedy} |`
  if (!errorRows.delete(row)) faults.push(`docs/errors.md lacks this row of src/errors.ts: ${row}`)
}
for (const row of errorRows) faults.push(`docs/errors.md has a row that src/errors.ts does not: ${row}`)

let names = 0
for (const document of globSync(['docs/**/*.md', 'src/**/README.md', 'README.md'], { cwd: root })) {
  for (const [, path] of textOf(document).matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|md|json|wat))`/g)) {
    names++
    if (!['', 'src', dirname(document)].some((folder) => existsSync(join(root, folder, path!)))) {
      faults.push(`${document} names ${path}, which is not there`)
    }
  }
}
if (names === 0) faults.push('no document names a file: the check itself is broken')

for (const fault of faults) console.error(fault)
console.log(`${there.size} places, ${names} files named in documents, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)
