import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { freePort } from './throwaway-server.ts'

/**
 * Checks with promtool (Debian package prometheus) that Prometheus accepts the alert rules, their tests and every query
 * of the dashboard. Also checks that they only use series in docs/metrics.md, which a test compares with a server. If
 * promtool is missing, this is reported and only the names are checked.
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
const checkNames = (where: string, text: string): void => {
  for (const name of new Set(text.match(/\btidemark_\w+/g))) {
    if (!known.has(name)) faults.push(`${where} names ${name}, which is not a series of docs/metrics.md`)
  }
}
for (const { title, expr } of queries) checkNames(`the dashboard (${title})`, expr)
checkNames(
  'deploy/prometheus/alerts.yml',
  textOf('deploy/prometheus/alerts.yml').replaceAll(/^.*description:.*$/gm, ''),
)

/** Every alert links to its own section of the runbook, and every section belongs to an alert. */
const { groups } = parse(textOf('deploy/prometheus/alerts.yml')) as {
  groups: { rules: { alert: string; annotations: { runbook_url?: string } }[] }[]
}
const rules = groups.flatMap((group) => group.rules)
const alerts = rules.map(({ alert }) => alert)
for (const { alert, annotations } of rules) {
  const expected = `{{ $externalLabels.runbooks }}/runbook.md#${alert.toLowerCase()}`
  if (annotations.runbook_url !== expected) faults.push(`${alert} does not link to its section of docs/runbook.md`)
}
const sections = Array.from(textOf('docs/runbook.md').matchAll(/^## (Tidemark\w+)$/gm), ([, name]) => name!)
for (const name of new Set([...alerts, ...sections])) {
  if (!sections.includes(name)) faults.push(`docs/runbook.md has no section ${name}`)
  if (!alerts.includes(name)) faults.push(`docs/runbook.md has a section ${name}, which is not an alert`)
}
const inhibition = textOf('deploy/prometheus/alertmanager.yml').matchAll(/alertname[!=]?=~?"?Tidemark(\w*|\(.*?\))"?/g)
for (const [, text] of inhibition) {
  for (const name of text!.match(/\w+/g) ?? []) {
    if (!alerts.includes(`Tidemark${name}`))
      faults.push(`alertmanager.yml names Tidemark${name}, which is not an alert`)
  }
}

/** Turns queries into rules, so that promtool parses them, with Grafana's variables replaced. */
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
    const checked = spawnSync('amtool', ['check-config', join(deploy, 'prometheus/alertmanager.yml')], {
      encoding: 'utf8',
    })
    if (checked.error !== undefined) console.log(`skipped: amtool is not available: ${checked.error.message}`)
    else if (checked.status !== 0) faults.push(`amtool check-config: ${checked.stdout}${checked.stderr}`)
    else await checkInhibition(folder)
  } else console.log(`skipped: promtool is not available: ${error.message}`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
for (const fault of faults) console.error(fault)
console.log(`${queries.length} queries of the dashboard, ${known.size} names of series, ${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)

/**
 * An unreachable database fires many alerts in four processes. A real Alertmanager must show only those of the cause.
 */
async function checkInhibition(folder: string): Promise<void> {
  const port = await freePort()
  const alertmanager = spawn(
    'prometheus-alertmanager',
    [
      `--config.file=${join(deploy, 'prometheus/alertmanager.yml')}`,
      `--storage.path=${folder}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  )
  const ended = once(alertmanager, 'exit')
  const address = `http://127.0.0.1:${port}/api/v2`
  try {
    await untilAnswers(`${address}/status`)
    const cause = { alertname: 'TidemarkNotReady', check: 'store' }
    const consequences = [
      ...['store_unavailable', 'search_backend_unavailable', 'changes_unavailable'].map((code) => ({
        alertname: 'TidemarkErrors',
        code,
      })),
      ...['indexing', 'vectors', 'retention'].map((job) => ({
        alertname: 'TidemarkBackgroundWorkFails',
        exported_job: job,
      })),
      { alertname: 'TidemarkIndexStandsStill' },
      { alertname: 'TidemarkNotReady', check: 'index' },
    ]
    const firing = ['api-1', 'api-2', 'worker-1', 'worker-2'].flatMap((instance) =>
      [cause, ...consequences].map((labels) => ({ labels: { ...labels, instance } })),
    )
    const other = { labels: { alertname: 'TidemarkBackupIsOld', instance: 'api-1' } }
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify([...firing, other])
    const posted = await fetch(`${address}/alerts`, { method: 'POST', headers, body })
    if (!posted.ok) throw new Error(`Alertmanager refused the alerts: ${await posted.text()}`)
    const answer = await fetch(`${address}/alerts?inhibited=false`)
    const shown = (await answer.json()) as { labels: Record<string, string> }[]
    const names = shown.map(({ labels }) => `${labels.alertname} ${labels.check ?? ''}`.trim()).sort()
    const expected = ['TidemarkBackupIsOld', ...Array(4).fill('TidemarkNotReady store')]
    if (names.join() !== expected.join())
      faults.push(`Alertmanager shows these of ${firing.length + 1} alerts: ${names.join(', ')}`)
    console.log(`${firing.length + 1} alerts of an unavailable database, ${names.length} of them shown`)
  } finally {
    // Alertmanager writes its state into the folder when it ends, so the folder can be removed only after that.
    alertmanager.kill()
    await ended
  }
}

async function untilAnswers(url: string): Promise<void> {
  const deadline = Date.now() + 60_000
  for (;;) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isUp) return
    if (Date.now() > deadline) throw new Error(`${url} does not answer`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function promtool(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
  if (status !== 0) faults.push(`promtool ${args.slice(0, 2).join(' ')}: ${stdout}${stderr}`)
}
