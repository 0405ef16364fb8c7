import { globSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

interface Library {
  readonly packageName: string
  /** The module of the installed package that goes out under the library's name. */
  readonly file: string
  /** Where it has what it imports from itself, and its styles; the folder of the file where nothing else is said. */
  readonly folder?: string
}

/** The libraries of the console, by the names its modules import them by. Pages load them from this server alone. */
const libraries: Readonly<Record<string, Library>> = {
  preact: { packageName: 'preact', file: 'dist/preact.mjs' },
  'preact/hooks': { packageName: 'preact', file: 'hooks/dist/hooks.mjs' },
  '@preact/signals': { packageName: '@preact/signals', file: 'dist/signals.mjs' },
  '@preact/signals-core': { packageName: '@preact/signals-core', file: 'dist/signals-core.mjs' },
  'diff/lib/diff/array.js': { packageName: 'diff', file: 'libesm/diff/array.js' },
  uplot: { packageName: 'uplot', file: 'dist/uPlot.esm.js' },
}

/** Below `/assets/packages/` a file has its path in node_modules, so that what imports its neighbours finds them. */
export const importMap = JSON.stringify({
  imports: Object.fromEntries(
    Object.entries(libraries).map(([name, { packageName, file }]) => [name, `/assets/packages/${packageName}/${file}`]),
  ),
})

let served: ReadonlyMap<string, string> | null = null

/** The path of what is served by that name below `/assets/packages/`; null where nothing is. */
export function packageFile(name: string): string | null {
  served ??= new Map(Object.values(libraries).flatMap(filesOf))
  return served.get(name) ?? null
}

function filesOf({ packageName, file, folder = dirname(file) }: Library): readonly [name: string, path: string][] {
  const installed = folderOf(packageName)
  return globSync(`${folder}/**/*.{js,mjs,css}`, { cwd: installed }).map((found) => [
    `${packageName}/${found}`,
    join(installed, found),
  ])
}

/** Where npm has put it: beside this project's other packages, or above it. */
function folderOf(packageName: string): string {
  const found = findPackageJSON(packageName, import.meta.url)
  if (found === undefined) throw new Error(`the package ${packageName} is not installed: run npm ci`)
  return dirname(found)
}
