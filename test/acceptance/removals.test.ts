import assert from 'node:assert/strict'
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import { assertFires, noPromtool } from '../support/alerts.ts'
import { readScrape, type Scrape } from '../support/scrape.ts'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { noVectors, startServer, type TestServer } from './harness.ts'

/** The record of erasures and ended keys, which is kept apart from the store. */
suite('the record of erasures and ended keys', () => {
  let server: TestServer
  let collector: { key: string; keyId: string }
  const folder = (): string => join(server.dataDir, 'artifacts', 'removals')
  const entries = (): string[] => {
    const [instance] = readdirSync(folder())
    return instance === undefined ? [] : readdirSync(join(folder(), instance))
  }
  const isRecorded = (id: string): boolean => entries().some((name) => name.startsWith(`${id}.`))
  const shown = async (): Promise<Scrape> => readScrape((await server.admin('GET', '/metrics')).text)
  const unrecorded = ({ samples }: Scrape) => samples.get('tidemark_erasures_unrecorded')
  const readiness = async () => (await server.call('GET', '/readyz')).body.checks.removals
  const statusOf = async (id: string) => (await server.mustAdmin('GET', `/admin/v1/erasures/${id}`)).status
  const eraseOne = async (name: string): Promise<string> => {
    const [sent] = await send(server, collector.key, [documentOf(name)])
    const begun = await server.mustAdmin('POST', '/admin/v1/erasures', { document_ids: [sent!.document_id] })
    return begun.erasure_id
  }
  const hasCompleted = (id: string) => until(`${id} is completed`, async () => (await statusOf(id)) === 'completed')

  before(async () => {
    server = await startServer({ env: noVectors })
    await server.makeDataset('news')
    collector = await server.makeCollector()
  })

  test('what is erased and whose keys end is in it, in files without names and texts', async () => {
    assert.equal((await readiness()).ok, true)
    const erasureId = await eraseOne('first')
    const { applicationId, keyId } = await server.makeApplication()
    const expiring = await server.makeKey(applicationId, { expires_at: '2099-01-01T00:00:00Z' })
    await server.tidemark(['key', 'revoke', keyId])
    await hasCompleted(erasureId)
    assert.ok(isRecorded(erasureId), 'completed, and so in the record')
    const [instance] = readdirSync(folder())
    const texts = entries().map((name) => readFileSync(join(folder(), instance!, name), 'utf8'))
    assert.ok(texts.every((text) => !/first|news|rss/i.test(text)))
    await until('the ends are there, also of a command beside the server', async () =>
      [keyId, expiring.keyId].every(isRecorded),
    )
    assert.ok(!isRecorded(collector.keyId))
    await server.mustAdmin('POST', `/admin/v1/keys/${expiring.keyId}/revoke`)
    await until('the later end is there too', async () =>
      entries().some((name) => name.startsWith(`${expiring.keyId}.1`) && name.endsWith(`.${Date.UTC(2099, 0)}.json`)),
    )
  })

  test('where the record cannot be used a server is not ready and says why, no erasure is completed, and both go on by themselves', async () => {
    const quiet = await shown()
    assert.equal(unrecorded(quiet), 0)
    await server.stop()
    renameSync(folder(), `${folder()}-away`)
    writeFileSync(folder(), 'not a folder')
    await server.start()
    const { ok, detail } = await readiness()
    assert.equal(ok, false)
    assert.match(detail, /the folder of the record of removals cannot be read \(ENOTDIR\)/)
    assert.ok(!detail.includes('/'))
    const { code, stdout } = await server.tidemark(['doctor'])
    assert.equal(code, 1)
    assert.match(stdout, /FAIL +the record of erasures and ended keys in .*ENOTDIR[^\n]*\n +do: /)
    const erasureId = await eraseOne('while it is away')
    await until('nothing is left of it in the store', async () => {
      const { documents, removed } = await server.mustAdmin('GET', `/admin/v1/erasures/${erasureId}`)
      return documents === 1 && removed === 1
    })
    assert.equal(await statusOf(erasureId), 'running')
    const failures = (await server.admin('GET', '/metrics')).text
    assert.match(failures, /tidemark_background_failures_total\{job="removal-record"\} [1-9]/)
    let stuck = quiet
    await until('the metrics show that it waits', async () => {
      stuck = await shown()
      return unrecorded(stuck) === 1
    })
    if (noPromtool === false) await assertFires('TidemarkErasuresAreNotRecorded', quiet, stuck)

    rmSync(folder())
    renameSync(`${folder()}-away`, folder())
    await until('it is ready', async () => (await server.call('GET', '/readyz')).status === 200)
    await hasCompleted(erasureId)
    assert.ok(isRecorded(erasureId))
    await until('the metrics show that none waits', async () => unrecorded(await shown()) === 0)
    assert.match(
      (await server.tidemark(['doctor'])).stdout,
      /ok +the record of erasures and ended keys has \d+ entries/,
    )
  })

  test('an instance that has none yet writes all that its tables have of earlier times', async () => {
    const known = entries().sort()
    await server.stop()
    rmSync(folder(), { recursive: true })
    await server.start()
    const newest = (names: readonly string[]) => names.filter((name) => !/^key_.*\.never\.\d+\.json$/.test(name))
    await until('it is whole again', async () => {
      const written = readdirSync(join(folder(), '..')).includes('removals') ? entries() : []
      return newest(known).every((name) => written.includes(name))
    })
  })

  test('an entry that is damaged is not passed over', async () => {
    await server.stop()
    const name = 'ers_0123456789abcdefghjkmnpqrs.1.last.json'
    const [instance] = readdirSync(folder())
    const path = join(folder(), instance!, name)
    writeFileSync(path, '{"erasure_id":')
    await server.start()
    const { ok, detail } = await readiness()
    assert.deepEqual([ok, detail.includes(`the entry ${name} of the record of removals is damaged`)], [false, true])
    const { code, stdout } = await server.tidemark(['doctor'])
    assert.equal(code, 1)
    assert.match(stdout, new RegExp(`FAIL +the entry ${name} of the record of removals is damaged[^\\n]*\\n +do: `))
    const meanwhile = await eraseOne('while an entry is damaged')
    await hasCompleted(meanwhile)
    rmSync(path)
    await until('it is ready', async () => (await server.call('GET', '/readyz')).status === 200)
    await server.stop()
  })
})
