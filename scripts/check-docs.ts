import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as dataFolder from '../src/platform/data-folder.ts'
import { errorTable } from '../src/platform/errors.ts'
import { settingHelp } from '../src/settings/config.ts'
import { tracingHelp } from '../src/settings/tracing-settings.ts'
import { layers } from './layers.ts'

/**
 * Checks statements in documents against the source: the list of folders, the drawing of the layers and the table of
 * the data folder in docs/architecture.md, the tables of docs/errors.md and docs/settings.md, and the name of every
 * file.
 */
const root = join(import.meta.dirname, '..')
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')
const architecture = textOf('docs/architecture.md')
const blocks = architecture.matchAll(/^```\n(.*?)^```$/gms)
const [folders = '', picture = ''] = Array.from(blocks, ([, block]) => block!)
const faults: string[] = []

/** The files and folders at the top of src, and the folders of storage. */
const existing = new Set(
  globSync(['src/*.ts', 'src/*/', 'src/storage/*/'], { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .map((path) => path.slice('src/'.length) + (path.endsWith('.ts') ? '' : '/')),
)
const listed = folders.slice(folders.indexOf('src/\n') + 'src/\n'.length, folders.indexOf('console/')).split('\n')
const named = new Set(
  listed.flatMap((line) => (/^ {2}(?:[\w/-]+(?:\.ts|\/) ?)+/.exec(line)?.[0] ?? '').split(' ').filter(Boolean)),
)
for (const one of existing.difference(named))
  faults.push(`the list of folders in docs/architecture.md does not have ${one}`)
for (const one of named.difference(existing)) faults.push(`docs/architecture.md lists ${one}, which does not exist`)

// In the drawing, a comment may follow the folders of a layer.
const drawn = picture.trimEnd().split('\n').toReversed()
for (const [i, members] of layers.entries()) {
  if (!new RegExp(`^${members.join(' {3}')}(?: {2,}\\S.*)?$`).test(drawn[i] ?? '')) {
    faults.push(`docs/architecture.md must draw the layer ${members.join(', ')} as scripts/layers.ts does`)
  }
}
if (drawn.length !== layers.length)
  faults.push('docs/architecture.md must draw as many layers as scripts/layers.ts has')

for (const name of Object.values(dataFolder)) {
  if (typeof name !== 'string' || name.startsWith('.')) continue
  if (!architecture.includes(`| \`${name}`) && !architecture.includes(`, \`${name}`)) {
    faults.push(`docs/architecture.md does not say what ${name} in the data folder is`)
  }
}

compareRows(
  'docs/errors.md',
  'src/platform/errors.ts',
  Object.entries(errorTable).map(
    ([code, { status, retryable, remedy }]) => `| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${remedy} |`,
  ),
)
compareRows(
  'docs/settings.md',
  'src/settings/config.ts and src/settings/tracing-settings.ts',
  [...settingHelp, ...tracingHelp].map(
    ({ environment, fallback, about }) => `| \`${environment}\` | ${fallback ?? ''} | ${about} |`,
  ),
)

let names = 0
for (const document of globSync(['docs/**/*.md', 'src/**/README.md', 'README.md'], { cwd: root })) {
  for (const [, path] of textOf(document).matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|md|json|wat))`/g)) {
    names++
    if (!['', 'src', dirname(document)].some((folder) => existsSync(join(root, folder, path!)))) {
      faults.push(`${document} names ${path}, which does not exist`)
    }
  }
}
if (names === 0) faults.push('no document names a file: the check itself is broken')

for (const fault of faults) console.error(fault)
console.log(`${existing.size} files and folders, ${names} files named in documents, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)

function compareRows(document: string, source: string, rows: readonly string[]): void {
  const written = new Set(textOf(document).match(/^\| `.*$/gm))
  for (const row of rows)
    if (!written.delete(row)) faults.push(`${document} does not have this row of ${source}: ${row}`)
  for (const row of written) faults.push(`${document} has a row that ${source} does not have: ${row}`)
}
