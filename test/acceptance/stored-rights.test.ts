import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { until } from '../support/until.ts'
import { documentOf, send } from './content.ts'
import { expectError } from './expect-error.ts'
import { startServer, type TestServer } from './harness.ts'
import { operate } from './store-surgery.ts'

/** Rights as a manual change, a damaged disk or another version of Tidemark may have left them. */
suite('rights in the store that cannot be read open nothing', () => {
  let server: TestServer
  let collector: { collectorId: string; key: string }
  let application: { applicationId: string; key: string; keyId: string }
  const path = () => `/admin/v1/applications/${application.applicationId}`

  before(async () => {
    server = await startServer()
    await server.makeDataset('news')
    collector = await server.makeCollector({ datasets: ['news'] })
    await send(server, collector.key, [documentOf('a')])
    application = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  })
  after(() => server.stop())

  const inStore = (statement: string) => operate(server, statement)
  const text = (value: unknown) => `'${JSON.stringify(value).replaceAll("'", "''")}'`
  const read = () => server.consumer(application.key, 'GET', '/v1/changes')

  /** Waits until the server reads the key again, which is within a second. */
  async function refused(named: RegExp): Promise<void> {
    await until('it is refused', async () => (await read()).status === 500)
    const answer = await read()
    await expectError(server, answer, 500, 'internal')
    await until('its cause is in the log', async () =>
      server.stderr.split('\n').some((line) => line.includes(answer.body.request_id) && named.test(line)),
    )
  }

  const entries: [about: string, entry: object, named: RegExp][] = [
    ['a time that is none', { datasets: ['news'], published_from: 'yesterday' }, /published_from/],
    ['a day that does not exist', { datasets: ['news'], published_to: '2026-02-30T00:00:00Z' }, /published_to/],
    ['a time of another type', { datasets: ['news'], published_to: 5 }, /published_to/],
    ['a condition that is not known', { datasets: ['news'], authors: ['x'] }, /authors/],
    ['null where a list should be', { datasets: ['news'], platforms: null }, /platforms/],
    ['a text where a list should be', { datasets: ['news'], languages: 'en' }, /languages/],
    ['no dataset', { platforms: ['rss'] }, /datasets/],
    ['a list of other things', { datasets: [['news']] }, /datasets/],
    ['no object', ['news'], /entitlement/],
  ]
  for (const [about, entry, named] of entries) {
    test(`an entitlement with ${about}`, async () => {
      await inStore(
        `update entitlement set entry = ${text(entry)} where application_id = '${application.applicationId}'`,
      )
      await refused(named)
      await server.mustAdmin('PUT', `${path()}/entitlements`, { entitlements: [{ datasets: ['news'] }] })
      assert.equal((await read()).status, 200)
    })
  }

  const policies: [about: string, policy: object, named: RegExp][] = [
    ['a switch that is a text', { analysis_enabled: 'false' }, /analysis_enabled/],
    ['a quota that is a text', { daily_quotas: { search: '5' } }, /daily_quotas\.search/],
    ['a limit that is not known', { requests_per_fortnight: 5 }, /requests_per_fortnight/],
    ['null for a limit', { burst: null }, /burst/],
  ]
  for (const [about, policy, named] of policies) {
    test(`a policy with ${about}`, async () => {
      const set = (value: object) =>
        inStore(`update application set policy = ${text(value)} where application_id = '${application.applicationId}'`)
      await set(policy)
      await refused(named)
      await set({ requests_per_second: 10_000 })
      await until('it is taken again', async () => (await read()).status === 200)
    })
  }

  test('datasets of a collector that are no list, or null as JSON', async () => {
    const collects = () => send(server, collector.key, [documentOf('a')])
    for (const datasets of ['null', '"news"', '{}', '[1]']) {
      await inStore(`update collector set datasets = '${datasets}' where collector_id = '${collector.collectorId}'`)
      await until(`${datasets} is refused`, async () =>
        collects().then(
          () => false,
          () => true,
        ),
      )
    }
    await inStore(`update collector set datasets = '["news"]' where collector_id = '${collector.collectorId}'`)
    await until('it is taken again', async () =>
      collects().then(
        () => true,
        () => false,
      ),
    )
  })

  test('doctor names what cannot be read', async () => {
    const entry = text({ datasets: ['news'], published_from: 'yesterday' })
    await inStore(`update entitlement set entry = ${entry} where application_id = '${application.applicationId}'`)
    const { code, stdout } = await server.tidemark(['doctor'])
    assert.equal(code, 1, stdout)
    assert.match(stdout, new RegExp(`${application.applicationId}.*published_from`))
  })
})
