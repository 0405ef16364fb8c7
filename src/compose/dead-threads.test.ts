import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Logger, pino } from 'pino'
import { startedThreads, threadsNamed } from '../../test/support/started-threads.ts'
import { readConfig } from '../settings/config.ts'
import { compose, type Instance } from './compose.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'tidemark-dead-'))
const adminToken = 'tma_dead-threads-0123456789abcdef'
const lines: { pool?: string; msg: string; err?: { message: string } }[] = []
const logger: Logger = pino({ level: 'error' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
let instance: Instance
let address: string
let key: string

async function call(method: 'GET' | 'POST' | 'PUT', path: string, body?: object, bearer = adminToken) {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await fetch(address + path, { method, headers, ...sent })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, text, json: () => JSON.parse(text) }
}

async function made(url: string, payload: object) {
  const answer = await call('POST', url, payload)
  assert.equal(answer.status, 201, answer.text)
  return answer.json()
}

const putDataset = (id: string) => call('PUT', `/admin/v1/datasets/${id}`, { name: id })

const search = () => call('POST', '/v1/search', { query: 'tide', mode: 'keyword' }, key)

/** Returns the check of one part in `/readyz`. */
async function ready(part: 'index' | 'store'): Promise<{ status: number; ok: boolean; detail: string }> {
  const answer = await call('GET', '/readyz')
  return { status: answer.status, ...answer.json().checks[part] }
}

/** Returns the value of a metric of one pool. */
async function metric(name: string, pool: string): Promise<number> {
  const { text } = await call('GET', '/metrics')
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name}{pool="${pool}"}`))
      ?.split(' ')[1],
  )
}

/** Polls until the condition holds. The timeout of the test is the limit. */
async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve))
}

/** Ends all threads of a name and checks at once. Repeats if the replacements were faster than the check. */
async function readyWithout(threads: string, part: 'index' | 'store') {
  for (;;) {
    await until(() => threadsNamed(threads).length > 0)
    await Promise.all(threadsNamed(threads).map((thread) => thread.terminate()))
    const state = await ready(part)
    if (!state.ok) return state
  }
}

before(async () => {
  const settings = { TIDEMARK_DATA_DIR: dataDir, TIDEMARK_PORT: '0', TIDEMARK_ADMIN_TOKEN: adminToken }
  instance = await compose(readConfig(settings), logger)
  address = await instance.listen()
  await putDataset('news')
  const { application_id } = await made('/admin/v1/applications', {
    name: 'reader',
    policy: { requests_per_second: 10_000, burst: 10_000 },
    entitlements: [{ datasets: ['news'] }],
  })
  key = (await made(`/admin/v1/applications/${application_id}/keys`, {})).api_key
  const document = {
    dataset_id: 'news',
    external_id: '1',
    source_platform: 'web',
    title: 'High tide',
    body: 'The tide is high.',
  }
  const { collector_key } = await made('/admin/v1/collectors', { name: 'collector', datasets: ['news'] })
  const stored = await call('POST', '/collector/v1/documents', { documents: [document] }, collector_key)
  assert.equal(stored.status, 200, stored.text)
  await until(async () => (await search()).json().results.length === 1)
})
after(async () => {
  await instance.close()
  assert.deepEqual(startedThreads, [])
  rmSync(dataDir, { recursive: true, force: true })
})

test('a search thread exits: searches are answered, the service stays ready, log and metrics report it', async () => {
  const threads = await metric('tidemark_pool_members', 'search-threads')
  assert.equal(threads, threadsNamed('search thread').length)
  assert.equal(await metric('tidemark_pool_replaced_total', 'search-threads'), 0)
  await threadsNamed('search thread')[0]!.terminate()
  for (let i = 0; i < 100; i++) {
    const answer = await search()
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json().results.length, 1)
  }
  await until(async () => (await metric('tidemark_pool_replaced_total', 'search-threads')) === 1)
  assert.equal(await metric('tidemark_pool_members', 'search-threads'), threads)
  assert.equal((await ready('index')).status, 200)
  const reported = lines.filter(({ pool }) => pool === 'search-threads')
  assert.equal(reported.length, 1)
  assert.match(reported[0]!.err!.message, /exit code/)
})

test('all search threads exit at once: not ready until one serves again, then searches are answered', async () => {
  const { status, detail } = await readyWithout('search thread', 'index')
  assert.equal(status, 503)
  assert.match(detail, /search-threads: \d+ of \d+ exited/)
  await until(async () => (await search()).status === 200)
  assert.equal((await ready('index')).ok, true)
})

test('the index writer exits: not ready, searches are unavailable, and both recover', async () => {
  assert.deepEqual(await readyWithout('index writer', 'index'), {
    status: 503,
    ok: false,
    detail: 'the index thread stopped unexpectedly: the index is being reopened',
  })
  const answer = await search()
  if (answer.status !== 200) assert.equal(answer.json().code, 'search_backend_unavailable')
  await until(async () => (await ready('index')).ok)
  assert.equal((await search()).json().results.length, 1)
})

test('the store writer exits: reads continue, not ready until the next one serves, then writes are accepted again', async () => {
  const { status, detail } = await readyWithout('store writer', 'store')
  assert.equal(status, 503)
  assert.match(detail, /store-writer: 1 of 1 exited/)
  assert.equal((await call('GET', '/v1/account', undefined, key)).status, 200)
  await until(async () => (await putDataset('after')).status < 300)
  assert.deepEqual(await ready('store'), { status: 200, ok: true, detail: 'answers' })
})

test('a store reader exits: its open requests get 503 store_unavailable or an answer, all others are answered', async () => {
  const requests = Array.from({ length: 30 }, () => call('GET', '/admin/v1/datasets'))
  await threadsNamed('store reader')[0]!.terminate()
  for (const answer of await Promise.all(requests)) {
    if (answer.status === 200) continue
    assert.deepEqual([answer.status, answer.json().code], [503, 'store_unavailable'])
    assert.equal(answer.headers.get('retry-after'), '1')
  }
  assert.equal((await call('GET', '/admin/v1/datasets')).status, 200)
})
