import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { ConfigError, readConfig } from '../src/settings/config.ts'
import { auditEntries, auditObjects, auditProtection, auditRelease } from './audit-manifests.ts'
import {
  composeFiles,
  deployFolder,
  type KubernetesObject,
  objectsIn,
  type Process,
  processesIn,
  processesOf,
  unitProcess,
} from './deployed.ts'
import { Chart, deployCheck } from './helm.ts'
import { renderAll } from './render-manifests.ts'

/**
 * Checks that Kubernetes, compose and systemd accept the files in deploy/, and that these files start Tidemark with
 * existing settings, request existing routes, and give processes no more rights than they need. helm renders the
 * manifests for several sets of values, and `kubernetes-validate` (from `pip`) checks them with its own schemas.
 * Programs are installed once, in the folder for temporary files. If Go, pip or systemd-analyze is missing, that is
 * reported and its checks are skipped.
 */
const root = join(deployFolder, '..')
/** Variables for other programs: the S3 client, Node, the C library, and OpenTelemetry. */
const otherVariables =
  /^(OTEL_EXPORTER_OTLP_ENDPOINT|AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|REGION)|NODE_EXTRA_CA_CERTS|NODE_COMPILE_CACHE|MALLOC_ARENA_MAX|NODE_OPTIONS)$/

/** The highest exposure by systemd-analyze, in tenths of its scale from 0 to 10. */
const exposureMax = 20

const faults: string[] = []
const skipped: string[] = []
let checked = 0

const validator = getValidator()
if (validator === null) skipped.push('schemas of Kubernetes: kubernetes-validate cannot be installed here')
const routes = new Set(Object.keys(described().paths))

const program = deployCheck()
if (program === null) {
  skipped.push('the charts: Go is needed to build their check')
  for (const name of ['backing', 'migrate', 'tidemark']) {
    checkManifests(`kubernetes/${name}.yaml`, readFileSync(join(deployFolder, 'kubernetes', `${name}.yaml`), 'utf8'))
  }
} else checkCharts(program)

checkCompose(program)
checkUnit()

for (const fault of faults) console.error(fault)
for (const what of skipped) console.log(`skipped: ${what}`)
console.log(`${checked} objects, compose files and units, ${faults.length} faults`)
process.exit(faults.length === 0 && checked > 0 ? 0 : 1)

function checkCharts(program: string): void {
  for (const [path, text] of renderAll(program)) {
    if (readFileSync(join(deployFolder, path), 'utf8') !== text) {
      faults.push(`deploy/${path} differs from the output of the charts: run node scripts/render-manifests.ts`)
    }
  }
  const tidemark = new Chart(program, join(deployFolder, 'helm/tidemark'))
  const backing = new Chart(program, join(deployFolder, 'helm/backing'))
  const values = (path: string): readonly string[] => ['--values', join(deployFolder, path)]
  const sets: readonly [string, Chart, readonly string[], readonly Audit[]][] = [
    ['the defaults of tidemark', tidemark, [], [auditProtection]],
    ['tidemark as in deploy/kubernetes', tidemark, values('kubernetes/values.yaml'), [auditProtection, auditRelease]],
    [
      'tidemark with everything',
      tidemark,
      values('helm/tidemark/ci/everything.yaml'),
      [auditProtection, auditRelease, auditEntries],
    ],
    ['tidemark with nothing', tidemark, values('helm/tidemark/ci/nothing.yaml'), []],
    ['the defaults of backing', backing, [], [auditProtection]],
  ]
  for (const [name, chart, args, audits] of sets) {
    const words = chart.lint(...args)
    if (words !== null) faults.push(`${name}: helm lint: ${words}`)
    const rendered = chart.render('tidemark', ...args)
    if ('refused' in rendered) faults.push(`${name}: helm template: ${rendered.refused}`)
    else checkManifests(name, rendered.text, audits)
  }
  const refused: readonly string[] = [
    'image.tag=latest',
    'databse.host=db',
    'database.port=0',
    'database.sslMode=prefer',
    'search.urls={https://user:password@search:9200}',
    'settings.TIDEMARK_ADMIN_TOKEN=secret',
    'settings.TIDEMARK_SEARCH_URL=http://search',
    'settings.LOG_LEVEL=info',
    'api.dataSize=much',
    'api.resources.limits=null',
  ]
  for (const wrong of refused) {
    if (!('refused' in tidemark.render('tidemark', '--set', wrong)))
      faults.push(`the chart accepts the wrong value ${wrong}`)
  }
  const [one, other] = ['info', 'debug'].map((level) =>
    tidemark.render('tidemark', '--set', `settings.TIDEMARK_LOG_LEVEL=${level}`),
  )
  if (podTemplateOf(one!) === podTemplateOf(other!))
    faults.push('a change of the settings does not replace the pods of the chart')
}

/** The template of the api pods. Kubernetes replaces the pods when it changes. */
function podTemplateOf(rendered: ReturnType<Chart['render']>): string {
  if ('refused' in rendered) throw new Error(rendered.refused)
  const api = objectsIn(rendered.text).find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name.endsWith('-api'),
  )
  return JSON.stringify(api!.spec!.template)
}

type Audit = (objects: readonly KubernetesObject[]) => string[]

function checkManifests(name: string, text: string, audits: readonly Audit[] = []): void {
  const objects = objectsIn(text)
  checked += objects.length
  const monitors = objects.filter(({ kind }) => kind === 'ServiceMonitor').length
  for (const fault of [...auditObjects(objects, routes), ...audits.flatMap((audit) => audit(objects))]) {
    faults.push(`${name}: ${fault}`)
  }
  for (const process of processesIn(objects)) checkProcess(name, process)
  if (validator === null) return
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-manifests-'))
  try {
    const path = join(folder, 'manifests.yaml')
    writeFileSync(path, text)
    const env = { PATH: process.env.PATH ?? '', PYTHONPATH: validator }
    const { status, stdout, stderr } = spawnSync('python3', ['-m', 'kubernetes_validate', '--strict', path], {
      encoding: 'utf8',
      env,
    })
    const words = `${stdout}${stderr}`
    const passed = words.match(/ passed for resource /g)?.length ?? 0
    if (status !== 0 || passed + monitors !== objects.length) {
      faults.push(
        `${name}: ${words
          .split('\n')
          .filter((line) => !line.startsWith('INFO'))
          .join('\n')}`,
      )
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function checkProcess(file: string, { where, environment, secretFiles }: Process): void {
  try {
    const { roles } = readConfig(environment)
    const isOwner = environment.TIDEMARK_ADMIN_TOKEN !== undefined && environment.TIDEMARK_ADMIN_TOKEN !== 'none'
    if (isOwner && !roles.includes('api'))
      faults.push(`${file}, ${where}: has the admin token, but only api processes need it`)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const fault of error.faults) faults.push(`${file}, ${where}: ${fault}`)
  }
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('TIDEMARK_') && !otherVariables.test(name))
      faults.push(`${file}, ${where}: nothing reads ${name}`)
  }
  for (const [name, path] of Object.entries(secretFiles)) {
    if (!/^\/[\w./-]+$/.test(path)) faults.push(`${file}, ${where}: ${name} is ${path}, which is not a path`)
  }
}

/** Runs the checks of docker compose's config command, without docker. */
function checkCompose(program: string | null): void {
  if (program === null) skipped.push('the schema of compose files: Go is needed to build its check')
  for (const file of composeFiles()) {
    checked++
    const path = join(deployFolder, file.name)
    if (program !== null) {
      const { status, stderr } = spawnSync(program, ['compose', path], { encoding: 'utf8' })
      if (status !== 0) faults.push(`${file.name}: ${stderr}`)
    }
    const processes = processesOf(file)
    if (processes.length === 0) faults.push(`${file.name}: has no process of Tidemark: the check itself is broken`)
    for (const process of processes) checkProcess(file.name, process)
    for (const [name, service] of Object.entries(file.services)) {
      const fault = (words: string) => faults.push(`${file.name}: ${name} ${words}`)
      const { image, healthcheck, deploy } = service
      const limits = deploy?.resources?.limits
      if (limits?.memory === undefined || limits.cpus === undefined) fault('has no limit of memory or CPU')
      if (image !== undefined && !/:[\w.-]*\d\.\d[\w.-]*(@sha256:\w+)?$/.test(image))
        fault(`has the floating tag ${image}`)
      // Services that run once need no health check.
      const runsOnce = Object.values(file.services).some(
        ({ depends_on: others = {} }) => others[name]?.condition === 'service_completed_successfully',
      )
      if (!runsOnce && healthcheck?.test === undefined) fault('has no health check')
      for (const [, route] of JSON.stringify(healthcheck ?? {}).matchAll(/:8080(\/\w*)/g)) {
        if (!routes.has(route!)) fault(`requests ${route}, which is not a route`)
      }
    }
  }
}

function checkUnit(): void {
  checked++
  const path = join(deployFolder, 'tidemark.service')
  checkProcess('tidemark.service', unitProcess())
  const args = ['security', '--offline=true', '--no-pager', `--threshold=${exposureMax}`, path]
  const { status, stdout, stderr, error } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  if (error !== undefined) skipped.push(`the unit of systemd: ${error.message}`)
  else if (status !== 0)
    faults.push(`tidemark.service: systemd-analyze security: ${stderr}${stdout.trim().split('\n').at(-1)}`)
}

/** The API description of the server. */
function described(): { readonly paths: Readonly<Record<string, unknown>> } {
  const text = execFileSync(process.execPath, ['bin/tidemark.js', 'openapi'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  return JSON.parse(text) as ReturnType<typeof described>
}

function getValidator(): string | null {
  const version = '1.37.0'
  const installed = join(tmpdir(), `tidemark-kubernetes-validate-${version}-${userInfo().uid}`)
  if (existsSync(installed)) return installed
  const folder = mkdtempSync(`${installed}.`)
  try {
    const options = ['--quiet', '--target', folder, `kubernetes-validate==${version}`]
    execFileSync('python3', ['-m', 'pip', 'install', ...options], { stdio: ['ignore', 'ignore', 'pipe'] })
    if (!existsSync(installed)) renameSync(folder, installed)
    return installed
  } catch {
    return null
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
