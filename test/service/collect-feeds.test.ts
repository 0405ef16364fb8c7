import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { wholeFeed } from '../acceptance/content.ts'
import { FeedServer, nastyFeeds, oddFeeds } from '../acceptance/feed-servers.ts'
import { type Answer, freshFolder, tidemark } from '../acceptance/harness.ts'
import { type LiveWorld, liveBody, startLiveWorld } from '../acceptance/live-world.ts'
import { until } from '../support/until.ts'

const main = new URL('../../bin/tidemark.js', import.meta.url).pathname
let world: LiveWorld
const servers: FeedServer[] = []
const running: ChildProcess[] = []
before(async () => {
  world = await startLiveWorld()
})
after(() => {
  for (const server of servers) server.close()
  for (const child of running) child.kill('SIGKILL')
})

async function feedServer(): Promise<FeedServer> {
  const server = await new FeedServer().start()
  servers.push(server)
  return server
}

/** A configuration file for the collector. Loopback addresses are allowed; everything else is as in production. */
function feedsFile(feeds: readonly unknown[], fields: object = {}): string {
  const path = join(freshFolder(), 'feeds.yaml')
  const limits = { bytes: 1_000_000, seconds: 5, redirects: 3, host_pause_seconds: 0, feeds_at_once: 8 }
  const file = {
    server: world.server.address,
    key: world.collector,
    dataset: 'news',
    platform: 'rss',
    allow_private_addresses: ['127.0.0.1'],
    poll_seconds: 0.1,
    lease_seconds: 3,
    feeds,
    limits,
    ...fields,
  }
  writeFileSync(path, JSON.stringify(file))
  return path
}

const once = (path: string) => tidemark(['collect', 'feeds', path, '--once'])

/** A collector that keeps running, with its output. */
function collector(
  path: string,
  ...flags: string[]
): { child: ChildProcess; said: () => string; ended: Promise<number | null> } {
  const child = spawn(process.execPath, [main, 'collect', 'feeds', path, ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.push(child)
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, said: () => said, ended }
}

async function titles(): Promise<string[]> {
  const { body } = await world.server.consumer(world.key, 'GET', '/v1/documents/browse?limit=200')
  return body.documents.map(({ document }: Answer['body']) => document.title)
}

const lineOf = (said: string, url: string): string => said.split('\n').find((line) => line.startsWith(`${url}: `)) ?? ''

suite('one round', () => {
  test('odd feeds are stored, nasty ones refused with their reason, and none holds up another', async (context) => {
    const server = await feedServer()
    server.robots = 'User-agent: *\nDisallow: /secret/\n'
    const odd = oddFeeds(server)
    const nasty = nastyFeeds(server)
    const urls = [...Object.values(nasty).map(({ url }) => url), ...Object.values(odd)]
    const { code, stderr } = await once(feedsFile(urls))
    assert.equal(code, 1, stderr)
    for (const [name, { url, expected }] of Object.entries(nasty)) {
      assert.match(lineOf(stderr, url), expected, `${name}: ${stderr}`)
      context.diagnostic(`${name}: ${lineOf(stderr, url).replace(url, '').slice(2)}`)
    }
    for (const [name, url] of Object.entries(odd)) {
      assert.match(lineOf(stderr, url), /\d entries, \d created$/, name)
      context.diagnostic(`${name}: ${lineOf(stderr, url).replace(url, '').slice(2)}`)
    }
    const stored = await titles()
    for (const title of ['Entry plain-1', 'Entry plain-2', 'Entry gzip', 'Entry brotli', 'Entry moved']) {
      assert.equal(stored.filter((one) => one === title).length, 1, title)
    }
    assert.equal(stored.filter((one) => one === 'Café').length, 2)
    assert.ok(!stored.some((title) => /secret|half/.test(title ?? '')))
    assert.equal(server.asked('/secret/feed'), 0)
    assert.equal(server.asked('/robots.txt'), 1)
  })

  test('addresses that are not public are refused unless told otherwise, by name and by number', async () => {
    const server = await feedServer()
    const { port } = new URL(server.feed('/inside', [{ id: 'inside' }]))
    const hosts = ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1', '0.0.0.0']
    const urls = hosts.map((host) => `http://${host}:${port}/inside`)
    const path = feedsFile(urls, { allow_private_addresses: false })
    const { code, stderr } = await once(path)
    assert.equal(code, 1)
    for (const url of urls) assert.match(lineOf(stderr, url), /refused \(address\)/, url)
    assert.equal(server.requests.length, 0)
    const allowed = await tidemark([
      'collect',
      'feeds',
      feedsFile([urls[0]], { allow_private_addresses: false }),
      '--once',
      '--allow-private-addresses',
    ])
    assert.equal(allowed.code, 0, allowed.stderr)
  })

  test('what is known is not fetched or sent again; what changed is', async () => {
    const server = await feedServer()
    let version = 1
    const url = server.on('/conditional', (request, response) => {
      response.setHeader('etag', `"v${version}"`)
      response.setHeader('last-modified', 'Tue, 10 Nov 2026 08:00:00 GMT')
      if (request.headers['if-none-match'] === `"v${version}"`) response.writeHead(304).end()
      else
        response.end(
          `<rss version="2.0"><channel><item><guid>cond</guid><title>V${version}</title></item></channel></rss>`,
        )
    })
    const path = feedsFile([url])
    assert.match((await once(path)).stderr, /1 entries, 1 created/)
    const second = await once(path)
    assert.deepEqual([second.code, /not modified/.test(second.stderr)], [0, true])
    assert.equal(server.requests.at(-1)!.headers['if-modified-since'], 'Tue, 10 Nov 2026 08:00:00 GMT')
    version = 2
    assert.match((await once(path)).stderr, /1 entries, 1 version created/)
    // A lost checkpoint only costs a repetition.
    writeFileSync(`${path}.checkpoint`, '{"feeds": {"broken')
    assert.match((await once(path)).stderr, /1 entries, 1 unchanged/)
  })

  test('a host that says 429 is left alone as long as it asks, and pauses between requests are kept', async () => {
    const hosts = await Promise.all(
      ['1800', new Date(Date.now() + 1_800_000).toUTCString()].map(async (wait) => {
        const server = await feedServer()
        const busy = server.on('/busy', (_, response) => response.writeHead(429, { 'retry-after': wait }).end())
        return { server, busy, later: server.feed('/later', [{ id: 'later' }]) }
      }),
    )
    const feeds = hosts.flatMap(({ busy, later }) => [busy, later])
    const { stderr } = await once(feedsFile(feeds, { limits: { feeds_at_once: 1, host_pause_seconds: 0 } }))
    for (const { server, busy, later } of hosts) {
      assert.match(lineOf(stderr, busy), /refused \(status\).*429/)
      assert.match(lineOf(stderr, later), /refused \(backoff\).*asked for no requests for another 1[78]\d\d seconds/)
      assert.equal(server.asked('/later'), 0)
    }
    const calm = await feedServer()
    const calmFeeds = ['/a', '/b', '/c'].map((one) => calm.feed(one, [{ id: `calm${one}` }]))
    await once(feedsFile(calmFeeds, { limits: { feeds_at_once: 3, host_pause_seconds: 0.3 } }))
    const times = calm.requests.map(({ at }) => at)
    assert.equal(times.length, 4)
    for (const [i, at] of times.entries()) assert.ok(i === 0 || at - times[i - 1]! >= 290, times.join())
  })

  test('a wrong file is told in words', async () => {
    // src/feeds/feeds-file.test.ts tests every other fault.
    const { code, stderr } = await once(feedsFile(['https://a.org/', 'https://a.org/']))
    assert.deepEqual([code, /twice/.test(stderr)], [2, true], stderr)
    assert.equal((await once('/nowhere/feeds.yaml')).code, 2)
    const server = await feedServer()
    const stranger = await once(feedsFile([server.feed('/x', [{ id: 'x' }])], { key: 'tml_wrong' }))
    assert.deepEqual([stranger.code, /Bearer/.test(stranger.stderr)], [1, true])
  })
})

suite('live tasks', () => {
  test('fresh entries that the query asks for are delivered; SIGTERM ends it', async () => {
    const server = await feedServer()
    const url = server.feed('/live', [
      { id: 'live-1', title: 'A storm in the harbour' },
      { id: 'live-2', title: 'Nothing to see' },
      { id: 'live-3', title: 'Harbours', body: 'of the world' },
    ])
    const { child, said, ended } = collector(feedsFile([url]), '--serve')
    await until('a live query can be started', async () => {
      const answer = await world.ask(liveBody, 'live-task')
      return answer.status === 202
    })
    const { id } = await world.start({}, 'live-task')
    await until('it is done', async () => (await world.status(id)).status === 'completed')
    const { body } = await world.results(id)
    assert.deepEqual(body.results.map((one: Answer['body']) => one.title).sort(), [
      'A storm in the harbour',
      'Harbours',
    ])
    child.kill('SIGTERM')
    assert.equal(await ended, 0, said())
    assert.match(said(), /2 of 3 fresh entries delivered/)
  })

  test('kill -9 of a collector with a task: the task goes to another, nothing is lost and nothing twice', async () => {
    const server = await feedServer()
    const held: (() => void)[] = []
    const items = Array.from({ length: 5 }, (_, i) => ({ id: `killed-${i}`, title: `Killed harbour ${i}` }))
    server.feed('/good', items)
    // The first collector hangs at this address while it holds the lease.
    const url = server.on('/holding', (_, response) => {
      held.push(() => response.writeHead(302, { location: '/good' }).end())
    })
    const first = collector(feedsFile([url], { limits: { seconds: 60, host_pause_seconds: 0 } }), '--serve')
    const { id } = await world.start({ query: 'killed' })
    await until('it has the task', async () => (await world.status(id)).status === 'running')
    await until('it fetches', async () => held.length > 0)
    first.child.kill('SIGKILL')
    await first.ended
    const second = collector(feedsFile([`${server.address}/good`]), '--serve')
    await until('the lease is over and another did it', async () => (await world.status(id)).status === 'completed')
    second.child.kill('SIGTERM')
    assert.equal(await second.ended, 0)
    const { body } = await world.results(id)
    assert.deepEqual(
      body.results.map((one: Answer['body']) => one.title).sort(),
      items.map(({ title }) => title),
    )
    const ids = new Set(body.results.map((one: Answer['body']) => one.document_id))
    const { events } = await wholeFeed(world.server, world.key)
    assert.equal(events.filter(({ document_id }) => ids.has(document_id)).length, 5)
  })
})

suite('crashes', () => {
  const items = Array.from({ length: 900 }, (_, i) => ({
    id: `crash-${i}`,
    title: `Crash ${i}`,
    body: 'x'.repeat(2000),
  }))
  const limits = { bytes: 10_000_000, seconds: 20, host_pause_seconds: 0, entries: 1000 }
  const crashed = async (): Promise<number> => {
    const { events } = await wholeFeed(world.server, world.key)
    const all = new Map<string, number>()
    for (const { document_id } of events) all.set(document_id, (all.get(document_id) ?? 0) + 1)
    return all.size
  }

  test('kill -9 of collector and of server in the middle of a round: nothing lost, nothing twice', async () => {
    const server = await feedServer()
    const path = feedsFile([server.feed('/crash', items)], { limits })
    const before = await crashed()
    const first = collector(path, '--once')
    await until('some are stored', async () => (await crashed()) > before)
    first.child.kill('SIGKILL')
    await first.ended
    const atKill = await crashed()
    const second = collector(path, '--once')
    await until('some more are stored', async () => {
      const now = await crashed()
      return now > atKill || now === before + items.length
    })
    const { port } = new URL(world.server.address)
    await world.server.kill9()
    await world.server.start({ TIDEMARK_PORT: port })
    assert.equal(await second.ended, 0, second.said())
    assert.equal(await crashed(), before + items.length)
    const { events } = await wholeFeed(world.server, world.key)
    assert.equal(
      new Set(events.map(({ document_id }) => document_id)).size,
      events.filter(({ event_type }) => event_type === 'document.created').length,
    )
    assert.match((await once(path)).stderr, /900 entries$/m)
  })
})
