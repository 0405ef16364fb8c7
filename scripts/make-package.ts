import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * `npm run package [-- FOLDER]` makes the package to install and publish, `tidemark-VERSION.tgz`, in a folder. A plain
 * `npm pack` is refused here, because the package differs from the checkout:
 *
 * - src/ becomes dist/, without types. In a checkout Node strips types when it loads a file, but it refuses to do so
 *   below node_modules, where packages are installed. Line numbers stay the same.
 * - onnxruntime-node is bundled, with the libraries of the platforms that Tidemark supports. Its install script would
 *   download unused files from another server, and fail if that server cannot be reached.
 * - package.json has no scripts and no development dependencies.
 */
const root = join(import.meta.dirname, '..')
const platforms = ['linux/x64', 'linux/arm64', 'darwin/arm64']
/** Packages that are copied into the package. */
const bundled = ['onnxruntime-node', 'onnxruntime-common'] as const

/** Matches the names of our files in imports and in the starts of threads and processes. */
const namedFiles = /(\bfrom\s+|\bimport\s*\(?\s*|\bnew URL\(\s*)'(\.[^']*)\.ts'/g

interface Manifest {
  readonly scripts?: object
  readonly dependencies: Readonly<Record<string, string>>
  readonly [name: string]: unknown
}

const manifestOf = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const writeManifest = (folder: string, manifest: object): void =>
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)

/** Returns the path of the file. */
export function makePackage(into: string): string {
  const stage = mkdtempSync(join(tmpdir(), 'tidemark-package-'))
  try {
    for (const part of ['bin', 'models', 'sample', 'README.md', 'LICENSE']) {
      cpSync(join(root, part), join(stage, part), { recursive: true })
    }
    copyFiles('console', '**/*.{html,css,ts,svg,md}', 'console')
    copyFiles('src', '**/*.{json,wasm}', 'dist')
    for (const file of sourcesIn('src', '**/*.ts')) {
      const to = join(stage, 'dist', file.replace(/\.ts$/, '.js'))
      mkdirSync(dirname(to), { recursive: true })
      const source = readFileSync(join(root, 'src', file), 'utf8')
      writeFileSync(to, stripTypeScriptTypes(source).replace(namedFiles, "$1'$2.js'"))
    }
    const {
      private: _private,
      scripts: _scripts,
      devDependencies: _dev,
      allowScripts: _allow,
      ...manifest
    } = manifestOf(root)
    writeManifest(stage, { ...manifest, bundleDependencies: bundled.slice(0, 1) })
    for (const name of bundled) bundle(name)
    const packed = execFileSync('npm', ['pack', '--pack-destination', resolve(into), '--loglevel=error'], {
      cwd: stage,
      encoding: 'utf8',
    })
    return join(resolve(into), packed.trim().split('\n').at(-1)!)
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }

  function copyFiles(from: string, pattern: string, to: string): void {
    for (const file of sourcesIn(from, pattern)) cpSync(join(root, from, file), join(stage, to, file))
  }

  function bundle(name: string): void {
    const [from, to] = [join(root, 'node_modules', name), join(stage, 'node_modules', name)]
    cpSync(from, to, {
      recursive: true,
      filter: (path) => {
        const library = /^bin\/[^/]+\/([^/]+)(\/[^/]+)?/.exec(path.slice(from.length + 1))
        const [, system, processor = ''] = library ?? []
        return system === undefined || platforms.some((one) => `${one}/`.startsWith(`${system}${processor}/`))
      },
    })
    const { scripts: _scripts, devDependencies: _dev, dependencies = {}, ...manifest } = manifestOf(to)
    const kept = Object.entries(dependencies).filter(([needed]) => (bundled as readonly string[]).includes(needed))
    writeManifest(to, { ...manifest, dependencies: Object.fromEntries(kept) })
  }
}

const sourcesIn = (folder: string, pattern: string): string[] =>
  globSync(pattern, { cwd: join(root, folder) }).filter((file) => !/\.(test|d)\.ts$/.test(file))

if (import.meta.url === pathToFileURL(process.argv[1]!).href) console.log(makePackage(process.argv[2] ?? '.'))
