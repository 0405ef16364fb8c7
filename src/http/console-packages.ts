import { globSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

interface Library {
  readonly packageName: string
  /** The module of the installed package that goes out under the library's name. */
  readonly file: string
  /** Where it has what it imports from itself, and its styles; the folder of the file where nothing else is said. */
  readonly folder?: string
  /** What the file is put between, where it was written for an older way of loading. */
  readonly wrapped?: Wrapped
}

/** UMD leaves what it gives in a global variable, CommonJS in `module`: browsers import neither. */
interface Wrapped {
  readonly before?: string
  readonly after: string
}

/** The libraries of the console, by the names its modules import them by. Pages load them from this server alone. */
const libraries: Readonly<Record<string, Library>> = {
  preact: { packageName: 'preact', file: 'dist/preact.mjs' },
  'preact/hooks': { packageName: 'preact', file: 'hooks/dist/hooks.mjs' },
  '@preact/signals': { packageName: '@preact/signals', file: 'dist/signals.mjs' },
  '@preact/signals-core': { packageName: '@preact/signals-core', file: 'dist/signals-core.mjs' },
  'diff/lib/diff/array.js': { packageName: 'diff', file: 'libesm/diff/array.js' },
  uplot: { packageName: 'uplot', file: 'dist/uPlot.esm.js' },
  hyparquet: { packageName: 'hyparquet', file: 'src/index.js' },
  fzstd: { packageName: 'fzstd', file: 'esm/index.mjs' },
  sigma: {
    packageName: 'sigma',
    file: 'dist/sigma.min.js',
    wrapped: { after: 'export default globalThis.Sigma' },
  },
  graphology: {
    packageName: 'graphology',
    file: 'dist/graphology.umd.min.js',
    wrapped: { after: 'export const { UndirectedGraph } = globalThis.graphology' },
  },
  'graphology-layout-forceatlas2/iterate.js': {
    packageName: 'graphology-layout-forceatlas2',
    file: 'iterate.js',
    wrapped: { before: 'const module = {};', after: 'export default module.exports' },
  },
}

/** Below `/assets/packages/` a file has its path in node_modules, so that what imports its neighbours finds them. */
const addresses = new Map(
  Object.entries(libraries).map(([name, { packageName, file }]) => [name, `/assets/packages/${packageName}/${file}`]),
)

export const importMap = JSON.stringify({ imports: Object.fromEntries(addresses) })

/** Workers have no import map: what our own files import of libraries goes out with its address. */
export const withAddresses = (source: string): string =>
  source.replace(/^((?:import|export)\b[^'\n]*|\} from )'([^'.][^']*)'/gm, (whole, start: string, name: string) => {
    const address = addresses.get(name)
    return address === undefined ? whole : `${start}'${address}'`
  })

export interface ServedFile {
  readonly path: string
  readonly wrapped?: Wrapped
}

let served: ReadonlyMap<string, ServedFile> | null = null

/** What is served by that name below `/assets/packages/`; null where nothing is. */
export function packageFile(name: string): ServedFile | null {
  served ??= new Map(Object.values(libraries).flatMap(filesOf))
  return served.get(name) ?? null
}

function filesOf({ packageName, file, folder = dirname(file), wrapped }: Library): readonly [string, ServedFile][] {
  const installed = folderOf(packageName)
  return globSync(`${folder}/**/*.{js,mjs,css}`, { cwd: installed }).map((found) => [
    `${packageName}/${found}`,
    { path: join(installed, found), ...(wrapped !== undefined && found === file ? { wrapped } : {}) },
  ])
}

/** Where npm has put it: beside this project's other packages, or above it. */
function folderOf(packageName: string): string {
  const found = findPackageJSON(packageName, import.meta.url)
  if (found === undefined) throw new Error(`the package ${packageName} is not installed: run npm ci`)
  return dirname(found)
}
