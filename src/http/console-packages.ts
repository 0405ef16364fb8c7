import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * The libraries of the console: the names its modules import them by, and the file of the installed package that goes out
 * for it. Pages load them through an import map, from this server alone.
 */
const modules: Readonly<Record<string, readonly [packageName: string, file: string]>> = {
  preact: ['preact', 'dist/preact.mjs'],
  'preact/hooks': ['preact', 'hooks/dist/hooks.mjs'],
  '@preact/signals': ['@preact/signals', 'dist/signals.mjs'],
  '@preact/signals-core': ['@preact/signals-core', 'dist/signals-core.mjs'],
}

/** `@preact/signals-core` is served as `preact-signals-core.js`: one name, without folders. */
const served = (name: string): string => `${name.replace('@', '').replaceAll('/', '-')}.js`

const byServedName = new Map(Object.entries(modules).map(([name, file]) => [served(name), file]))

/** The path of what is served by that name below `/assets/packages/`; null where nothing is. */
export function packageFile(name: string): string | null {
  const found = byServedName.get(name)
  if (found === undefined) return null
  const [packageName, file] = found
  return join(folderOf(packageName), file)
}

export const importMap = JSON.stringify({
  imports: Object.fromEntries(Object.keys(modules).map((name) => [name, `/assets/packages/${served(name)}`])),
})

/** Where npm has put it: beside this project's other packages, or above it. */
function folderOf(packageName: string): string {
  const found = findPackageJSON(packageName, import.meta.url)
  if (found === undefined) throw new Error(`the package ${packageName} is not installed: run npm ci`)
  return dirname(found)
}
