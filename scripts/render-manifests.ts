import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { Chart, deployCheck } from './helm.ts'

/**
 * `node scripts/render-manifests.ts` writes the files that are generated from the charts in deploy/helm: the plain
 * manifests in deploy/kubernetes, and the table of values in the README of each chart.
 */
const deploy = join(import.meta.dirname, '..', 'deploy')

interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
}

/** Returns the contents by path below deploy. */
export function renderAll(program: string): ReadonlyMap<string, string> {
  const tidemark = new Chart(program, join(deploy, 'helm/tidemark'))
  const backing = new Chart(program, join(deploy, 'helm/backing'))
  const values = ['--values', join(deploy, 'kubernetes/values.yaml')]
  const parts = partsOf(textOf(tidemark.render('tidemark', ...values)))
  // Helm installs the hooks first, so they are in a file of their own, which must be applied first.
  const isHook = (part: string): boolean => part.includes('helm.sh/hook:')
  const file = (how: string, of: readonly string[]): string =>
    ['# Rendered from deploy/helm by scripts/render-manifests.ts: change it there.\n', how, ...of].join('')
  return new Map([
    [
      'kubernetes/backing.yaml',
      file(
        '# Only for trying Tidemark out. Create the secrets tidemark and tidemark-backing-tls first (deploy/helm/backing/README.md).\n',
        partsOf(textOf(backing.render('backing'))),
      ),
    ],
    [
      'kubernetes/migrate.yaml',
      file(
        '# Apply this first, and wait until it is complete before you apply tidemark.yaml (docs/operations.md).\n',
        parts.filter(isHook),
      ),
    ],
    [
      'kubernetes/tidemark.yaml',
      file(
        '# Apply this after migrate.yaml. Workers wait for an api pod of their own revision.\n',
        parts.filter((part) => !isHook(part)),
      ),
    ],
    ...['tidemark', 'backing'].map((name): [string, string] => [`helm/${name}/README.md`, readmeOf(name)]),
  ])
}

const partsOf = (text: string): string[] =>
  text.split(/^(?=---\n)/m).filter((part) => part.replace('---', '').trim() !== '')

function textOf(rendered: ReturnType<Chart['render']>): string {
  if ('refused' in rendered) throw new Error(rendered.refused)
  return rendered.text
}

const heading = '## Values\n'

/** Returns the README with a new table of values, made from the schema and the defaults. */
function readmeOf(name: string): string {
  const folder = join(deploy, 'helm', name)
  const readme = readFileSync(join(folder, 'README.md'), 'utf8')
  const schema = JSON.parse(readFileSync(join(folder, 'values.schema.json'), 'utf8')) as Schema
  const defaults = parse(readFileSync(join(folder, 'values.yaml'), 'utf8')) as object
  const rows = rowsOf(schema, defaults, '')
  const at = readme.indexOf(heading)
  if (at < 0) throw new Error(`helm/${name}/README.md has no heading "Values"`)
  return `${readme.slice(0, at)}${heading}\n| value | default | |\n|---|---|---|\n${rows.join('\n')}\n`
}

function rowsOf({ properties = {} }: Schema, defaults: object, prefix: string): string[] {
  const known = Object.entries(properties).filter(([key]) => key !== 'global')
  const missing = known.map(([key]) => key).filter((key) => !Object.hasOwn(defaults, key))
  if (missing.length > 0) throw new Error(`values.yaml has no default for ${missing.map((key) => prefix + key)}`)
  return known.flatMap(([key, schema]) => {
    const name = `${prefix}${key}`
    const value = (defaults as Record<string, unknown>)[key]
    if (schema.description === undefined) throw new Error(`values.schema.json does not describe ${name}`)
    const isLeaf = schema.properties === undefined || 'requests' in schema.properties
    const shown = isLeaf ? `\`${JSON.stringify(value).replaceAll('|', '\\|')}\`` : ''
    const row = `| \`${name}\` | ${shown} | ${schema.description.replaceAll('|', '\\|')} |`
    return isLeaf ? [row] : [row, ...rowsOf(schema, value as object, `${name}.`)]
  })
}

if (process.argv[1] === import.meta.filename) {
  const program = deployCheck()
  if (program === null) throw new Error('Go is needed to build scripts/deploy-check')
  for (const [path, text] of renderAll(program)) writeFileSync(join(deploy, path), text)
}
