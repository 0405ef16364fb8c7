import { globSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

interface Library {
  readonly packageName: string
  /** The module file that is served under the library's name. */
  readonly file: string
  /** The folder of its styles and of the modules that it imports; by default, the folder of `file`. */
  readonly folder?: string
  /** Code put before and after a file that is not an ES module. */
  readonly wrapped?: Wrapped
}

/** UMD modules export to a global variable, CommonJS modules to `module`. Browsers can import neither. */
interface Wrapped {
  readonly before?: string
  readonly after: string
}

/**
 * The libraries of the console, by the names under which its modules import them. Pages load them from this server
 * only.
 */
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

/** A file below `/assets/packages/` keeps its path in node_modules, so that relative imports resolve. */
const addresses = new Map(
  Object.entries(libraries).map(([name, { packageName, file }]) => [name, `/assets/packages/${packageName}/${file}`]),
)

export const importMap = JSON.stringify({ imports: Object.fromEntries(addresses) })

/** Replaces library names in import statements by addresses, because workers have no import map. */
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

/** Returns the file with that name below `/assets/packages/`, or null. */
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

/** npm installs a package in this project's node_modules or in one above it. */
function folderOf(packageName: string): string {
  const found = findPackageJSON(packageName, import.meta.url)
  if (found === undefined) throw new Error(`the package ${packageName} is not installed: run npm ci`)
  return dirname(found)
}
