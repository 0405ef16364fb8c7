import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { type Scrape, seriesName } from './scrape.ts'

const rulesPath = new URL('../../deploy/prometheus/alerts.yml', import.meta.url).pathname

interface Rule {
  readonly alert: string
  readonly expr: string
}

export const alertRules: readonly Rule[] = parse(readFileSync(rulesPath, 'utf8')).groups.flatMap(
  ({ rules }: { rules: readonly Rule[] }) => rules,
)

/** For `skip`: why alerts cannot be tested here. Debian's package prometheus has the tool. CI installs it. */
export const noPromtool = hasPromtool() ? false : 'there is no promtool: install the package prometheus'

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * Asserts that an alert does not fire on the first scrape, and fires if the state of the second one lasts: gauges stay
 * the same, ages grow, and counters grow by the difference every minute. Runs promtool on the shipped rules.
 */
export async function assertFires(alert: string, before: Scrape, after: Scrape): Promise<void> {
  assert.ok(!(await fires(alert, before, before)), `${alert} fires without a problem`)
  assert.ok(await fires(alert, before, after), `${alert} does not fire`)
}

const minutes = 120

async function fires(alert: string, before: Scrape, after: Scrape): Promise<boolean> {
  const rule = alertRules.find((one) => one.alert === alert) ?? assert.fail(`there is no alert ${alert}`)
  const named = new Set(rule.expr.match(/\b(?:tidemark_\w+|up)\b/g)!.map(seriesName))
  const series = [...after.samples]
    .filter(([sample]) => named.has(seriesName(sample)))
    .map(([sample, value]) => ({
      series: asScraped(sample),
      values: valuesOf(sample, after, before.samples.get(sample) ?? value, value),
    }))
  assert.ok(series.length > 0, `the scrape has no series that ${alert} uses`)
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-alerts-'))
  const path = join(folder, 'test.json')
  const silence = { eval_time: `${minutes}m`, alertname: alert, exp_alerts: [] }
  // JSON is valid YAML.
  const tests = [{ interval: '1m', input_series: series, alert_rule_test: [silence] }]
  writeFileSync(path, JSON.stringify({ rule_files: [rulesPath], evaluation_interval: '1m', tests }))
  try {
    await promisify(execFile)('promtool', ['test', 'rules', path])
    return false
  } catch (error) {
    const output = `${(error as { stdout?: string }).stdout}${(error as { stderr?: string }).stderr}`
    assert.match(output, new RegExp(`got:\\[\\s*0:\\s*Labels:\\{alertname="${alert}"`), output)
    return true
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Adds the labels of the target. They take precedence over those of the sample, as in Prometheus. */
function asScraped(sample: string): string {
  const [, name, labels = ''] = /^([^{]+)(?:\{(.*)\})?$/.exec(sample)!
  const own = labels.replace(/(?<=^|,)job=/, 'exported_job=')
  return `${name}{${[own, 'instance="tested:80"', 'job="tidemark"'].filter(Boolean).join(',')}}`
}

function valuesOf(sample: string, { types }: Scrape, before: number, after: number): string {
  const name = seriesName(sample)
  const step = types.get(name) !== 'gauge' ? after - before : name.endsWith('_pending_seconds') && after > 0 ? 60 : 0
  return `${types.get(name) === 'gauge' ? after : before}+${step}x${minutes}`
}
