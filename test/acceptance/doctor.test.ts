import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type FakeAnswer, FakeCluster } from '../support/fake-cluster.ts'
import { FakeEmbedding } from './fake-embedding.ts'
import { freshFolder, startServer, type TestServer, tidemark } from './harness.ts'

const settingsPath = '/_cluster/settings?include_defaults=true&flat_settings'

/** Answers of a healthy cluster, by the start of the path. */
const wellSaid: Readonly<Record<string, object>> = {
  '/_cluster/state': { cluster_manager_node: 'abc' },
  [settingsPath]: { defaults: { 'cluster.no_cluster_manager_block': 'all' } },
  '/_cat/nodes': [{ name: 'one', version: '3.6.0' }],
  '/_cat/plugins': [{ name: 'one', component: 'opensearch-knn' }],
  '/_cat/allocation': [],
}

suite('doctor: every part is looked at, whatever is wrong with the others', () => {
  const embedding = new FakeEmbedding()
  let server: TestServer
  /** In place of what is well. */
  let said: Readonly<Record<string, FakeAnswer>> = {}
  const cluster = new FakeCluster((path) => {
    const is = (begin: string) => path.startsWith(begin)
    const told = Object.keys(said).find(is)
    if (told !== undefined) return said[told]!
    const well = Object.keys(wellSaid).find(is)
    if (well !== undefined) return { body: wellSaid[well]! }
    return { body: /^\/\??$/.test(path) ? { version: { number: '3.6.0', distribution: 'opensearch' } } : {} }
  })
  let clusterUrl: string
  before(async () => {
    await embedding.start()
    clusterUrl = await cluster.start()
    server = await startServer()
    await server.makeDataset('news')
    assert.equal(await server.stop(), 0)
  })
  after(async () => {
    cluster.stop()
    await embedding.stop()
  })

  async function examined(env: Record<string, string> = {}, dataDir = server.dataDir): Promise<string> {
    const { code, stdout, stderr } = await tidemark(['doctor'], { dataDir, env })
    assert.equal(stderr, '')
    assert.equal(code, /^ {2}FAIL/m.test(stdout) ? 1 : 0, stdout)
    assert.doesNotMatch(stdout, /\n {4}at /)
    return stdout
  }

  test('an embedding endpoint that answers, and one that does not', async () => {
    assert.match(await examined(embedding.env), /ok +the embedding endpoint answers, with vectors of 64 dimensions/)
    embedding.behaviour = 'garbage'
    assert.match(
      await examined(embedding.env),
      /FAIL +the embedding endpoint cannot be used: .*\n +do: .*EMBEDDING_URL/,
    )
    embedding.recover()
  })

  test('a backup that was never made, made, and failed since', async () => {
    assert.match(await examined(), /note +no backup was ever made\n +do: make backups daily: tidemark backup/)
    const record = async (...how: string[]) => {
      const { code, stderr } = await server.tidemark(['backup', 'record', ...how])
      assert.equal(code, 0, stderr)
    }
    await record()
    assert.match(await examined(), /ok +the last backup was made at \S+Z$/m)
    await record('--failed')
    assert.match(await examined(), /note +a backup failed at \S+Z\n/)
  })

  test('a cluster that makes no index, takes no writes or goes on without a manager', async () => {
    const env = { TIDEMARK_SEARCH_URL: clusterUrl }
    said = {}
    assert.doesNotMatch(await examined(env), /cluster/)
    const settings = (set: Record<string, string>) => ({
      [settingsPath]: { body: { ...wellSaid[settingsPath], persistent: set } },
    })
    for (const name of ['create_index', 'read_only', 'read_only_allow_delete']) {
      said = settings({ [`cluster.blocks.${name}`]: 'true' })
      assert.match(
        await examined(env),
        new RegExp(`FAIL +the search cluster is blocked by cluster\\.blocks\\.${name}: .*\\n +do: .* to null`),
      )
    }
    said = settings({ 'cluster.no_cluster_manager_block': 'metadata_write' })
    assert.match(
      await examined(env),
      /note +cluster\.no_cluster_manager_block of the search cluster is metadata_write: .*\n +do: set .* to all/,
    )
    said = { '/_cluster/state': { body: {} } }
    assert.match(await examined(env), /FAIL +the search cluster has no manager/)
  })

  test('what a cluster does not tell is named, and the rest is told', async () => {
    const refused = { status: 403, body: { error: { type: 'security_exception' } } }
    said = {
      '/_cluster/settings': refused,
      '/_cat/nodes': { body: [...(wellSaid['/_cat/nodes'] as object[]), { name: 'two', version: '3.5.0' }] },
    }
    const told = await examined({ TIDEMARK_SEARCH_URL: clusterUrl })
    assert.match(told, /FAIL +the search cluster did not report its settings, or .*: OpenSearch .* answered 403/)
    assert.match(told, /note +the nodes of the search cluster have different versions/)
    assert.match(told, /FAIL +node two of the search cluster does not have opensearch-knn/)
    assert.match(told, /ok +datasets: 1$/m)
    assert.match(told, /ok +no search index yet/)
  })

  test('all parts but the store broken at once: each is named, none is blamed on the store', async () => {
    const file = join(freshFolder(), 'file')
    writeFileSync(file, '')
    const pipes = ['history.json', 'backup.json'].map((name) => join(server.dataDir, name))
    for (const pipe of pipes) {
      rmSync(pipe, { force: true })
      execFileSync('mkfifo', [pipe])
    }
    const told = await examined({
      TIDEMARK_SEARCH_URL: 'http://operator:hushhush@127.0.0.1:9',
      TIDEMARK_ARTIFACTS_URL: `file://${file}`,
      TIDEMARK_EMBEDDING_URL: 'http://127.0.0.1:9/v1',
      TIDEMARK_EMBEDDING_MODEL: 'some',
    })
    for (const pipe of pipes) rmSync(pipe)
    assert.match(told, /ok +node /)
    assert.match(told, /ok +data folder .* can be read and written/)
    assert.match(told, /FAIL +the search cluster cannot be checked: OpenSearch at 127\.0\.0\.1:9 cannot be reached/)
    assert.match(told, /ok +datasets: 1$/m)
    assert.match(told, /FAIL +artifacts cannot be kept/)
    assert.match(told, /FAIL +the embedding endpoint cannot be used: .*cannot be reached/)
    assert.match(told, /FAIL +backups cannot be checked: .*backup\.json/)
    assert.match(told, /note +not checked, because of a problem above: the search index$/m)
    assert.doesNotMatch(told, /store cannot be opened|hushhush/)
  })

  test('a setting that says no place is told, and all else is checked; one that does is told alone', async () => {
    const told = await examined({ TIDEMARK_PORT: 'banana', TIDEMARK_LOG_LEVEL: 'loud' })
    assert.match(told, /FAIL +TIDEMARK_PORT is "banana", but it must be a whole number[^\n]*\n +do: correct it/)
    assert.match(told, /FAIL +TIDEMARK_LOG_LEVEL is "loud"/)
    assert.match(told, /ok +datasets: 1$/m)
    assert.doesNotMatch(told, /settings: all valid/)
    const env = { TIDEMARK_PORT: 'banana', TIDEMARK_DATABASE_HOST: 'postgres://odd:hushhush@db/odd' }
    const { code, stdout, stderr } = await tidemark(['doctor'], { dataDir: server.dataDir, env })
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /TIDEMARK_PORT is "banana"[\s\S]*TIDEMARK_DATABASE_HOST is a text of 30 characters/)
  })

  test('a data folder that is none, and a store that cannot be opened, leave the others to be told', async () => {
    const file = join(freshFolder(), 'file')
    writeFileSync(file, '')
    said = { '/_cluster/state': { body: {} } }
    const env = { TIDEMARK_SEARCH_URL: clusterUrl, ...embedding.env }
    const noFolder = await examined(env, file)
    assert.match(noFolder, /FAIL +data folder .* is not a folder/)
    assert.match(noFolder, /FAIL +the search cluster has no manager/)
    assert.match(noFolder, /ok +the embedding endpoint answers/)
    const noStore = await examined({ ...env, TIDEMARK_DATABASE_URL: 'postgres://127.0.0.1:9/nobody' })
    assert.match(noStore, /FAIL +the store cannot be opened: .*127\.0\.0\.1:9[^\n]*\n +do: check that PostgreSQL runs/)
    assert.match(noStore, /FAIL +the search cluster has no manager/)
    assert.match(noStore, /ok +the embedding endpoint answers/)
    assert.match(noStore, /note +not checked, .*: .*datasets, applications and keys; .*the search index/)
  })
})
