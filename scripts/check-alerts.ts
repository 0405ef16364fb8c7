import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Whether the rules for alerts, their tests and every query of the dashboard are such as Prometheus takes, and name only
 * series that docs/metrics.md has, which a test compares with a server. By promtool, of Debian's package prometheus; where
 * there is none that is said, and only the names are looked at.
 */
const root = join(import.meta.dirname, '..')
const deploy = join(root, 'deploy')
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8')

interface Panel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

const { panels } = JSON.parse(textOf('deploy/grafana/tidemark.json')) as { panels: readonly Panel[] }
const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))
const faults: string[] = []
if (queries.length === 0) faults.push('the dashboard has no query: the check itself is broken')

const rows = textOf('docs/metrics.md').matchAll(/^\| `(tidemark_\w+)` \| (\w+) /gm)
const known = new Set(
  Array.from(rows).flatMap(([, name, type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => name! + part) : name!,
  ),
)
const named = (where: string, text: string): void => {
  for (const name of new Set(text.match(/\btidemark_\w+/g))) {
    if (!known.has(name)) faults.push(`${where} names ${name}, which is no series of docs/metrics.md`)
  }
}
for (const { title, expr } of queries) named(`the dashboard (${title})`, expr)
named('deploy/prometheus/alerts.yml', textOf('deploy/prometheus/alerts.yml').replaceAll(/^.*description:.*$/gm, ''))

/** Queries as rules, so that promtool parses them; what Grafana puts in is put in. */
const asRules = {
  groups: [
    {
      name: 'dashboard',
      rules: queries.map(({ expr }, i) => ({
        record: `query_${i}`,
        expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
      })),
    },
  ],
}
const folder = mkdtempSync(join(tmpdir(), 'tidemark-alerts-'))
try {
  const path = join(folder, 'dashboard.json')
  writeFileSync(path, JSON.stringify(asRules))
  const { error } = spawnSync('promtool', ['--version'], { stdio: 'ignore' })
  if (error === undefined) {
    promtool('check', 'rules', join(deploy, 'prometheus/alerts.yml'), path)
    promtool('test', 'rules', join(deploy, 'prometheus/alerts.test.yml'))
    promtool('check', 'config', '--syntax-only', join(deploy, 'prometheus/prometheus.yml'))
  } else console.log(`left out: promtool cannot be had here: ${error.message}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
for (const fault of faults) console.error(fault)
console.log(`${queries.length} queries of the dashboard, ${known.size} names of series, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)

function promtool(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
  if (status !== 0) faults.push(`promtool ${args.slice(0, 2).join(' ')}: ${stdout}${stderr}`)
}
