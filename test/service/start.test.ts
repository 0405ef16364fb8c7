import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { FakeEmbedding } from '../acceptance/fake-embedding.ts'
import { adminToken, freshFolder, noVectors, sharedEmbedding, startTidemark, tidemark } from '../acceptance/harness.ts'
import { launchBrowser } from '../browser/console-world.ts'
import { findChromium } from '../browser/find-chromium.ts'
import { until } from '../support/until.ts'

const hourMs = 3_600_000

/** Sends the request of a printed curl line exactly as printed. */
async function asked(line: string): Promise<{ readonly url: URL; readonly body: ReturnType<typeof JSON.parse> }> {
  const url = new URL(/curl -s '?(http[^' ]+)/.exec(line)![1]!)
  const headers = [...line.matchAll(/-H ['"]([^:]+): ([^'"]+)['"]/g)].map(([, name, value]) => [name!, value!] as const)
  const body = /-d '([^']+)'/.exec(line)?.[1]
  const response = await fetch(url, {
    headers: Object.fromEntries(headers),
    ...(body === undefined ? {} : { method: 'POST', body }),
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return { url, body: JSON.parse(text) }
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Runs an example as a new user with the sample does. Returns its output, its drawing and the picture in docs. */
async function example(name: string, address: string, key: string) {
  const picture = join(freshFolder(), `${name}.svg`)
  const env = { ...process.env, TIDEMARK_URL: address, TIDEMARK_KEY: key }
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'examples', `${name}.ts`), picture], {
    env,
  })
  const shown = readFileSync(join(root, 'docs/images', `${name}.svg`), 'utf8')
  return { stdout, drawn: readFileSync(picture, 'utf8'), shown }
}

/** Stands in for the desktop's program that opens addresses, and records the address. */
function fakeDesktop(): { readonly path: string; readonly shown: string } {
  const folder = freshFolder()
  const shown = join(folder, 'shown')
  for (const name of ['xdg-open', 'open']) {
    // Written by a rename, so that a reader never finds half of it.
    const lines = ['#!/bin/sh', `printf %s "$1" > '${shown}.part'`, `mv '${shown}.part' '${shown}'`, '']
    writeFileSync(join(folder, name), lines.join('\n'), { mode: 0o755 })
  }
  return { path: `${folder}:${process.env.PATH}`, shown }
}

/** In a browser: the address signs in to the console as the sample's reader once, and not a second time. */
async function signsInOnce(address: string): Promise<void> {
  const browser = await launchBrowser()
  try {
    const open = async () => {
      const page = await (await browser.newContext()).newPage()
      page.setDefaultTimeout(150_000)
      await page.goto(address)
      return page
    }
    const first = await open()
    await first.getByRole('button', { name: 'Sample reader Sign out' }).waitFor()
    assert.ok(!first.url().includes('#'), 'the code does not stay in the address')
    const second = await open()
    await second.getByText('This sign-in link was already used or has expired.').waitFor()
  } finally {
    await browser.close()
  }
}

test('start: every line that it prints has an answer from the first request on, every mode of search too, on any later day', async (t) => {
  const dataDir = freshFolder()
  const running = await startTidemark(['start'], { dataDir })
  t.after(() => running.kill9())
  const [, greeting] = await running.printed(/(Tidemark is up at [\s\S]+) Ctrl-C stops it/)
  const lines = greeting!.split('\n').filter((line) => line.trim().startsWith('curl '))
  assert.equal(lines.length, 3)

  const [search, browse, changes] = lines as [string, string, string]
  for (const mode of ['vector', 'keyword', 'hybrid']) {
    const { body } = await asked(search.replace('"hybrid"', `"${mode}"`))
    assert.equal(body.results.length, 3, mode)
    assert.deepEqual(body.warnings ?? [], [], mode)
  }

  const listed = await asked(browse)
  assert.equal(listed.body.documents.length, 3)
  // The window is fixed, whatever the day, and starts before all loaded documents.
  const [from, to] = ['created_from', 'created_to'].map((name) => Date.parse(listed.url.searchParams.get(name)!))
  for (const { document } of listed.body.documents) {
    const { created_at } = document
    assert.ok(from! <= Date.parse(created_at) && Date.parse(created_at) + 24 * hourMs < to!, created_at)
  }
  assert.equal((await asked(changes)).body.items.length, 5)

  const signIn = async (): Promise<Response> => {
    const [, origin, code] = /^ +(http:\S+)\/sign-in#(\S+)$/m.exec(greeting!)!
    const headers = { 'content-type': 'application/json' }
    return fetch(`${origin}/sign-in`, { method: 'POST', headers, body: JSON.stringify({ code }) })
  }
  const signedIn = await signIn()
  assert.deepEqual(await signedIn.json(), { api_key: /key for the sample data: (\S+)/.exec(greeting!)![1] })
  assert.equal(signedIn.headers.get('cache-control'), 'no-store')
  const again = await signIn()
  assert.deepEqual([again.status, ((await again.json()) as { code: string }).code], [401, 'unauthorized'])

  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replaceAll(/ \\\n\s+/g, ' ')
  const [, key] = /key for the sample data: (\S+)/.exec(greeting!)!
  const address = /up at (\S+)/.exec(greeting!)![1]!
  const asInReadme = search
    .trim()
    .replace(`'Authorization: Bearer ${key}'`, '"Authorization: Bearer $TIDEMARK_KEY"')
    .replace(address, 'http://127.0.0.1:8080')
  assert.ok(
    readme.includes(`\n${asInReadme}\n`),
    `the example of the README is not the line that is printed: ${asInReadme}`,
  )

  const copied = await example('copied-stories', address, key!)
  assert.match(copied.stdout, /^302 documents, 7 stories that were copied$/m)
  assert.match(copied.stdout, /^"Gannet Stack shines again after four dark years", harbourwire\n +\+4\.6 h {2}courier/m)
  assert.equal(copied.drawn, copied.shown, 'the picture in docs/images is not the one that the example draws')
  // The topics depend slightly on the order of documents that arrived within one millisecond.
  const topics = await example('topics-over-time', address, key!)
  assert.match(topics.stdout, /^191 documents, \d+ topics; \d+ documents are in none$/m)
  for (const text of [topics.drawn, topics.shown])
    assert.match(text, />[^<]*gannet[^<]*lighthouse[^<]*<[\s\S]+<\/svg>\n$/)
  assert.match(topics.stdout, /^ +\d+ {2}.*gannet.* \(most on 13 Nov: \d+\)$/m)

  // A user may take a name of the sample. The next start still has its own application.
  const applications = `${address}/admin/v1/applications`
  const { applications: before } = await asAdmin('GET', applications)
  await asAdmin('POST', applications, { name: 'Sample reader' })
  // A key that was made for a start and never used.
  const { application_id } = before.find(({ name }: { name: string }) => name === 'Sample reader')
  const { key_id: unused } = await asAdmin('POST', `${applications}/${application_id}/keys`, { name: 'npm start' })

  running.signal('SIGINT')
  const { code, stderr } = await running.ended
  assert.equal(code, 0, stderr)
  assert.match(stderr, /100 % {2}indexing the sample/)

  const desktop = fakeDesktop()
  const later = await startTidemark(['start', '--open'], { dataDir, env: { PATH: desktop.path } })
  t.after(() => later.kill9())
  const [printed] = await later.printed(/Tidemark is up at [\s\S]+Ctrl-C stops it/)
  const [searchAgain] = printed!.split('\n').filter((line) => line.trim().startsWith('curl '))
  assert.equal((await asked(searchAgain!)).body.results.length, 3)
  const addressAgain = /up at (\S+)/.exec(printed!)![1]!
  const { keys } = await asAdmin('GET', `${addressAgain}/admin/v1/applications/${application_id}/keys`)
  type Key = { key_id: string; revoked_at: string | null }
  assert.deepEqual(
    keys.map((one: Key) => one.revoked_at !== null && one.key_id).filter(Boolean),
    [unused],
    'the key of the first start was used, and goes on',
  )
  assert.equal(keys.length, 3)
  const [, signInAddress] = /^ +(http:\S+\/sign-in#\S+)$/m.exec(printed!)!
  await until('the browser of the desktop is asked for', async () => existsSync(desktop.shown))
  assert.equal(readFileSync(desktop.shown, 'utf8'), signInAddress)
  if (findChromium() !== null) await signsInOnce(signInAddress!)
  later.signal('SIGINT')
  const second = await later.ended
  assert.equal(second.code, 0, second.stderr)
  assert.doesNotMatch(second.stderr, /indexing the sample/, 'nothing is loaded, nothing waited for')
  assert.match(second.stdout, new RegExp(`created_from=${new Date(from!).toISOString().slice(0, 10)}T00:00:00Z`))
})

/** A request of the administrator. */
async function asAdmin(method: string, url: string, body?: object): Promise<ReturnType<typeof JSON.parse>> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  assert.ok(response.ok, `${method} ${url}: ${response.status}`)
  const text = await response.text()
  return text === '' ? null : JSON.parse(text)
}

/** Waits until the sample's application exists. Returns its address in the admin API. */
async function sampleReader(address: string): Promise<string> {
  let found: { name: string; application_id: string } | undefined
  await until('the sample has its application', async () => {
    const { applications } = await asAdmin('GET', `${address}/admin/v1/applications`)
    found = applications.find(({ name }: { name: string }) => name === 'Sample reader')
    return found !== undefined
  })
  return `${address}/admin/v1/applications/${found!.application_id}`
}

/** The types of all events, in order. */
async function feed(address: string, key: string): Promise<readonly string[]> {
  const types: string[] = []
  for (let cursor = ''; ; ) {
    const url = `${address}/v1/changes?limit=100${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    const page: ReturnType<typeof JSON.parse> = await response.json()
    assert.equal(response.status, 200, JSON.stringify(page))
    if (page.items.length === 0) return types
    types.push(...page.items.map(({ event_type }: { event_type: string }) => event_type))
    cursor = page.next_cursor
  }
}

test('start: one that stops while it serves says nothing more of the sample, and opens nothing', async (t) => {
  // No vectors are made, so the start waits for them.
  const desktop = fakeDesktop()
  const env = { ...noVectors, PATH: desktop.path }
  const running = await startTidemark(['start', '--open'], { env })
  t.after(() => running.kill9())
  const [, address] = await running.printed(/Tidemark is up at (\S+)/)
  assert.equal((await fetch(`${address}/healthz`)).status, 200)
  await running.printed(/indexing the sample/)
  running.signal('SIGINT')
  const { code, stdout } = await running.ended
  assert.equal(code, 0)
  assert.match(stdout, /Tidemark is up at .*\n\nclosing …\n$/)
  assert.ok(!existsSync(desktop.shown))

  const early = await startTidemark(['start', '--open'], { env })
  t.after(() => early.kill9())
  await early.printed(/Tidemark is up at/)
  early.signal('SIGINT')
  const ended = await early.ended
  assert.equal(ended.code, 0)
  assert.match(ended.stdout, /Tidemark is up at .*\n\nclosing …\n$/)
})

/** When to kill a start that is loading the sample. */
const moments: Readonly<Record<string, (address: string) => Promise<void>>> = {
  'it is up': async () => {},
  'the application is there': async (address) => void (await sampleReader(address)),
  'the first documents are there': async (address) => {
    const { api_key: key } = await asAdmin('POST', `${await sampleReader(address)}/keys`, { name: 'watching' })
    await until('there are documents', async () => (await feed(address, key)).length > 0)
  },
}
for (const [moment, reached] of Object.entries(moments)) {
  test(`start: killed when ${moment}, it has the whole sample after the next start, each text once`, async (t) => {
    const dataDir = freshFolder()
    const { env } = await sharedEmbedding()
    const killed = await startTidemark(['start'], { dataDir, env })
    t.after(() => killed.kill9())
    const [, address] = await killed.printed(/Tidemark is up at (\S+)/)
    await reached(address!)
    killed.kill9()
    await killed.ended

    const next = await startTidemark(['start'], { dataDir, env })
    t.after(() => next.kill9())
    const [, addressNow] = await next.printed(/Tidemark is up at (\S+)/)
    const [, key] = await next.printed(/key for the sample data: (\S+)/)
    const types = await feed(addressNow!, key!)
    const documents = readFileSync(join(root, 'sample/documents.ndjson'), 'utf8').trimEnd().split('\n').length
    assert.equal(types.filter((type) => type === 'document.created').length, documents)
    // The number of events in a store that was loaded without interruption.
    assert.equal(types.length, 339)
  })
}

test('start: a sample that is deleted while it loads ends nothing; one line says that it is gone', async (t) => {
  const endpoint = await new FakeEmbedding().start()
  endpoint.behaviour = 'hangs'
  const running = await startTidemark(['start'], { env: endpoint.env })
  t.after(() => running.kill9())
  const [, address] = await running.printed(/Tidemark is up at (\S+)/)
  await running.printed(/indexing the sample/)
  await asAdmin('DELETE', `${await sampleReader(address!)}?force=true`)
  endpoint.recover()
  await running.printed(/^ {2}The sample has been deleted \(.*Sample reader.*\); Tidemark keeps running without it\.$/m)
  assert.equal((await fetch(`${address}/healthz`)).status, 200)
  running.signal('SIGINT')
  assert.equal((await running.ended).code, 0)
})

/** Starts in a folder without naming a data folder. Returns the output of a start that ends in an orderly way. */
async function newcomer(t: TestContext) {
  const cwd = freshFolder()
  const { env: vectors } = await sharedEmbedding()
  const options = { cwd, env: { ...vectors, TIDEMARK_DATA_DIR: '' } }
  const start = async (...args: readonly string[]) => {
    const running = await startTidemark(['start', ...args], options)
    t.after(() => running.kill9())
    await running.printed(/Ctrl-C stops it/)
    running.signal('SIGINT')
    const ended = await running.ended
    assert.equal(ended.code, 0, ended.stderr)
    return ended.stdout
  }
  return { cwd, options, start }
}

test('start: the sample has a folder of its own; serve, in the same place, begins empty and takes what the README applies', async (t) => {
  const { cwd, options, start } = await newcomer(t)
  const greeted = await start()
  assert.ok(greeted.includes(`the data stays in ${join(cwd, 'sample-data')}, where other commands find it`), greeted)
  assert.doesNotMatch(greeted, /earlier version/)
  assert.deepEqual(readdirSync(cwd), ['sample-data'])

  const served = await startTidemark(['serve'], options)
  t.after(() => served.kill9())
  const [, address] = await served.printed(/Tidemark serves (\S+)/)
  assert.deepEqual((await asAdmin('GET', `${address}/admin/v1/datasets`)).datasets, [])
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const [, file] = /^echo '(.+)' > instance\.yaml$/m.exec(readme)!
  writeFileSync(join(cwd, 'instance.yaml'), file!)
  const applied = await tidemark(['apply', 'instance.yaml'], options)
  assert.equal(applied.code, 0, applied.stderr)
  assert.match(applied.stdout, /^\+ dataset news$/m)
  const { datasets } = await asAdmin('GET', `${address}/admin/v1/datasets`)
  assert.deepEqual(
    datasets.map(({ dataset_id, name }: Record<string, string>) => [dataset_id, name]),
    [['news', 'News']],
  )
  served.signal('SIGINT')
  assert.equal((await served.ended).code, 0)
  assert.match((await tidemark(['app', 'list', '--data-dir', 'sample-data'], options)).stdout, /Sample reader/)
})

test('start: a sample in ./data, from an earlier version, stays as it is and is spoken of once', async (t) => {
  const { options, start } = await newcomer(t)
  const earlier = ['--data-dir', './data']
  await start(...earlier)
  const before = (await tidemark(['key', 'list', ...earlier], options)).stdout
  const note =
    /The sample is kept in \.\/sample-data, and \.\/data stays as it is\. .*`tidemark start --data-dir \.\/data`/
  assert.match(await start(), note)
  assert.doesNotMatch(await start(), /earlier version/)
  assert.equal((await tidemark(['key', 'list', ...earlier], options)).stdout, before)
  assert.doesNotMatch(await start(...earlier), /earlier version/)
})

test('start: an instance with data of its own is refused, and stays as it was', async () => {
  const dataDir = freshFolder()
  const file = join(freshFolder(), 'own.yaml')
  writeFileSync(file, 'datasets: [{ dataset_id: news, name: Our own news }]')
  assert.equal((await tidemark(['apply', file], { dataDir })).code, 0)
  const { code, stderr } = await tidemark(['start'], { dataDir })
  assert.equal(code, 1)
  assert.match(stderr, /^tidemark: this instance has data that is not the sample: use tidemark serve, or .*--data-dir/m)
  assert.match((await tidemark(['apply', file, '--dry-run'], { dataDir })).stdout, /nothing to change/)
  assert.match((await tidemark(['app', 'list'], { dataDir })).stdout, /^no applications yet/)
})

test('start: an admin token that was made and maybe not shown is spoken of by the next start, once', async () => {
  const dataDir = freshFolder()
  const env = { ...noVectors, TIDEMARK_ADMIN_TOKEN: '' }
  const first = await startTidemark(['serve'], { dataDir, env })
  const file = join(dataDir, 'admin-token.sha256')
  await until('the token is made', () => existsSync(file))
  first.kill9()
  const { stdout } = await first.ended
  const wasShown = /shown only once: tma_/.test(stdout)
  // If the kill came too late: restores the file to its state between creation and display.
  if (wasShown) writeFileSync(file, `${readFileSync(file, 'utf8').slice(0, 64)} untold\n`)
  for (const isTold of [true, false]) {
    const next = await startTidemark(['serve'], { dataDir, env })
    await next.printed(/Tidemark serves/)
    next.signal('SIGINT')
    const ended = await next.ended
    assert.equal(ended.code, 0, ended.stderr)
    assert.equal(/may have ended before it showed the admin token: `tidemark admin-token` /.test(ended.stdout), isTold)
    assert.doesNotMatch(ended.stdout, /tma_/)
  }
})
