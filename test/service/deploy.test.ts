import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { tidemark } from '../acceptance/harness.ts'

const root = new URL('../../', import.meta.url)
const deployFiles = globSync('deploy/**/*', { cwd: root }).filter((name) => /\.(yaml|service)$|Dockerfile$/.test(name))
const composeFiles = deployFiles.filter((name) => name.startsWith('deploy/compose'))
const read = (name: string): string => readFileSync(new URL(name, root), 'utf8')

test('the settings in the deployment files are settings that there are', async () => {
  const { stdout } = await tidemark(['serve', '--help'])
  const known = new Set(stdout.match(/TIDEMARK_[A-Z_]+/g))
  for (const file of [...deployFiles, 'docs/operations.md']) {
    for (const name of read(file).match(/TIDEMARK_[A-Z_]+/g) ?? []) assert.ok(known.has(name), `${file}: ${name}`)
  }
})

interface Service {
  readonly volumes?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, unknown>>
}

test('the compose files are whole: what is named is declared, every process has a data folder of its own', () => {
  assert.equal(composeFiles.length, 2)
  for (const name of composeFiles) {
    const file = parse(read(name), { merge: true })
    const services = Object.entries<Service>(file.services)
    const sources = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')))
    assert.deepEqual(new Set(sources.map(([source]) => source)), new Set(Object.keys(file.volumes)), name)
    const folders = sources.filter(([, target]) => target === '/data').map(([source]) => source)
    assert.equal(new Set(folders).size, folders.length)
    for (const [, { environment = {}, depends_on = {} }] of services) {
      for (const other of Object.keys(depends_on)) assert.ok(other in file.services, `${name}: ${other}`)
      const hosts = JSON.stringify(environment).matchAll(/(?:https?:\/\/|@)([a-z0-9-]+):\d/g)
      for (const [, host] of hosts) assert.ok(host! in file.services, `${name}: ${host}`)
    }
  }
  assert.ok(existsSync(new URL('deploy/Dockerfile', root)))
  for (const line of read('deploy/Dockerfile').matchAll(/^COPY (.+) \S+$/gm)) {
    for (const source of line[1]!.split(' ')) assert.ok(existsSync(new URL(source, root)), source)
  }
})

test('the whole layout is two that answer, two that work, a database, three nodes of search and a bucket', () => {
  const { services } = parse(read('deploy/compose-cluster.yaml'), { merge: true })
  const withRole = (role: string) =>
    Object.values<Service>(services).filter(({ environment }) => environment?.TIDEMARK_ROLES === role)
  assert.deepEqual([withRole('api').length, withRole('worker').length], [2, 2])
  const [api] = withRole('api')
  assert.equal(api!.environment!.TIDEMARK_SEARCH_URL!.split(',').length, 3)
  const bucket = new URL(api!.environment!.TIDEMARK_ARTIFACTS_URL!).hostname
  assert.ok(JSON.stringify(services.bucket).includes(`-name ${bucket}'`))

  const objects = globSync('deploy/kubernetes/*.yaml', { cwd: root }).flatMap((name) =>
    parseAllDocuments(read(name)).map((document) => document.toJS()),
  )
  const named = (kind: string, name: string) =>
    objects.find((one) => one.kind === kind && one.metadata.name === name) ?? assert.fail(`${kind} ${name}`)
  const podsOf = (labels: Record<string, string>) =>
    objects.filter(({ spec }) => {
      const own = spec?.template?.metadata.labels ?? {}
      return Object.entries(labels).every(([label, value]) => own[label] === value)
    })
  const secrets = new Set(read('deploy/kubernetes/tidemark.yaml').match(/(?<=--from-literal=)[a-z0-9-]+/g))
  for (const { kind, spec } of objects) {
    if (kind === 'Deployment' || kind === 'StatefulSet') {
      assert.deepEqual(spec.selector.matchLabels, spec.template.metadata.labels)
      for (const { env = [], envFrom = [] } of spec.template.spec.containers) {
        for (const { configMapRef } of envFrom) named('ConfigMap', configMapRef.name)
        for (const { valueFrom } of env) {
          if (valueFrom?.secretKeyRef) assert.ok(secrets.has(valueFrom.secretKeyRef.key), valueFrom.secretKeyRef.key)
        }
      }
    }
    if (kind === 'Service') assert.equal(podsOf(spec.selector).length, 1)
    if (kind === 'PodDisruptionBudget') assert.equal(podsOf(spec.selector.matchLabels).length, 1)
  }
  assert.deepEqual(
    ['tidemark-api', 'tidemark-worker'].map((name) => named('Deployment', name).spec.replicas),
    [2, 2],
  )
  const { data } = named('ConfigMap', 'tidemark')
  for (const [, name] of data.TIDEMARK_SEARCH_URL.matchAll(/http:\/\/([a-z0-9-]+)\.search:9200/g)) {
    assert.ok(/^search-[0-2]$/.test(name!), name)
  }
  assert.equal(named('StatefulSet', 'search').spec.replicas, data.TIDEMARK_SEARCH_URL.split(',').length)
})

test('the product is started everywhere with the same flags', () => {
  const flags = (JSON.parse(read('package.json')).scripts.tidemark as string).match(/--[a-z-]+=\d+/g)!
  assert.ok(flags.length > 0)
  for (const flag of flags) {
    for (const file of ['deploy/Dockerfile', 'deploy/tidemark.service']) assert.ok(read(file).includes(flag), file)
  }
})

test('what operations are told to watch is among the metrics, which are compared with a server elsewhere', () => {
  const known = new Set(
    read('docs/metrics.md')
      .match(/^\| `tidemark_\w+`/gm)!
      .map((row) => row.slice(3, -1)),
  )
  const [, watched] = read('docs/operations.md').split('## What to watch')
  const named = watched!.split('\n## ', 1)[0]!.match(/\btidemark_\w+/g)!
  assert.ok(named.length > 20)
  for (const name of named) assert.ok(known.has(name), name)
})
