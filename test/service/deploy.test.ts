import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { composeFiles as composed, objectsIn, processesIn, processesOf, unitProcess } from '../../scripts/deployed.ts'
import { readConfig } from '../../src/settings/config.ts'
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

test('every process is started with settings that it takes, and with the owner token only where requests are answered', () => {
  const objects = ['migrate', 'tidemark'].flatMap((name) => objectsIn(read(`deploy/kubernetes/${name}.yaml`)))
  const shared = [...composed().flatMap(processesOf), ...processesIn(objects)]
  assert.equal(shared.length, 4 + 5 + 3)
  for (const { where, environment } of shared) {
    const { databaseUrl, roles } = readConfig(environment)
    assert.ok(databaseUrl !== null, where)
    assert.equal(roles.length, where.includes('migrate') ? 2 : 1, where)
    const token = environment.TIDEMARK_ADMIN_TOKEN ?? 'none'
    assert.ok(token === 'none' || roles.includes('api'), where)
  }
  assert.equal(readConfig(unitProcess().environment).dataDir, '/var/lib/tidemark')
})

interface Service {
  readonly build?: object
  readonly volumes?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, unknown>>
}

test('the compose files are whole: what is named is declared, every process has a data folder of its own', () => {
  assert.equal(composeFiles.length, 2)
  const [, made] = /chown node:node (.+)$/m.exec(read('deploy/Dockerfile'))!
  for (const name of composeFiles) {
    const file = parse(read(name), { merge: true })
    const services = Object.entries<Service>(file.services)
    const sources = services.flatMap(([, { volumes = [] }]) => volumes.map((volume) => volume.split(':')))
    assert.deepEqual(new Set(sources.map(([source]) => source)), new Set(Object.keys(file.volumes)), name)
    const folders = sources.filter(([, target]) => target === '/data').map(([source]) => source)
    assert.equal(new Set(folders).size, folders.length)
    for (const [service, { build, volumes = [], environment = {}, depends_on = {} }] of services) {
      // A new volume has the owner of the folder that the image has in its place: of none, it is root's.
      for (const target of build === undefined ? [] : volumes.map((volume) => volume.split(':')[1]!)) {
        assert.ok(made!.split(' ').includes(target), `${name}: ${service} cannot write to ${target}`)
      }
      for (const other of Object.keys(depends_on)) assert.ok(other in file.services, `${name}: ${other}`)
      const hosts = JSON.stringify(environment).matchAll(/(?:https?:\/\/|@)([a-z0-9-]+):\d/g)
      for (const [, host] of hosts) assert.ok(host! in file.services, `${name}: ${host}`)
    }
  }
  assert.ok(existsSync(new URL('deploy/Dockerfile', root)))
  for (const line of read('deploy/Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
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

  const manifests = ['backing', 'migrate', 'tidemark'].map((name) => read(`deploy/kubernetes/${name}.yaml`))
  const objects = manifests.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS()))
  const named = (kind: string, name: string) =>
    objects.find((one) => one.kind === kind && one.metadata.name === name) ?? assert.fail(`${kind} ${name}`)
  const podsOf = (labels: Record<string, string>) =>
    objects.filter(({ spec }) => {
      const own = spec?.template?.metadata.labels ?? {}
      return Object.entries(labels).every(([label, value]) => own[label] === value)
    })
  const secrets = new Set(read('deploy/helm/backing/README.md').match(/(?<=--from-literal=)[a-z0-9-]+/g))
  for (const { kind, spec } of objects) {
    if (kind === 'Deployment' || kind === 'StatefulSet') {
      const { labels } = spec.template.metadata
      for (const [name, value] of Object.entries(spec.selector.matchLabels)) assert.equal(labels[name], value)
      const { containers, initContainers = [], volumes = [] } = spec.template.spec
      for (const { secret } of volumes) {
        if (secret?.secretName === 'tidemark') for (const { key } of secret.items) assert.ok(secrets.has(key), key)
      }
      for (const { env = [], envFrom = [] } of [...initContainers, ...containers]) {
        for (const { configMapRef } of envFrom) named('ConfigMap', configMapRef.name)
        for (const { valueFrom } of env) {
          if (valueFrom?.secretKeyRef) assert.ok(secrets.has(valueFrom.secretKeyRef.key), valueFrom.secretKeyRef.key)
        }
      }
    }
    if (kind === 'Service') assert.equal(podsOf(spec.selector).length, 1)
    if (kind === 'PodDisruptionBudget') assert.equal(podsOf(spec.selector.matchLabels).length, 1)
  }
  for (const name of ['tidemark-api', 'tidemark-worker']) {
    const { minReplicas, scaleTargetRef } = named('HorizontalPodAutoscaler', name).spec
    assert.deepEqual([minReplicas, scaleTargetRef.name], [2, name])
    assert.equal(named('Deployment', name).spec.replicas, undefined)
  }
  const { data } = named('ConfigMap', 'tidemark')
  const nodes = ['search-0', 'search-1', 'search-2'].map((name) => `https://${name}.search:9200`)
  assert.equal(data.TIDEMARK_SEARCH_URL, nodes.join(','))
  assert.match(data.TIDEMARK_DATABASE_URL, /[?&]sslmode=verify-full$/)
  assert.match(data.TIDEMARK_ARTIFACTS_URL, /[?&]endpoint=https:/)
  const searchSettings = named('ConfigMap', 'search').data['opensearch.yml']
  assert.match(searchSettings, /^plugins\.security\.ssl\.http\.enabled: true$/m)
  assert.doesNotMatch(searchSettings, /plugins\.security\.disabled/)
  for (const text of [read('deploy/compose-cluster.yaml'), searchSettings]) {
    assert.match(text, /^ *cluster\.no_cluster_manager_block: all$/m)
  }
  assert.equal(named('StatefulSet', 'search').spec.replicas, data.TIDEMARK_SEARCH_URL.split(',').length)
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
