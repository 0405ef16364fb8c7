import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual, promisify } from 'node:util'
import { adminToken, startServer, type TestServer } from '../acceptance/harness.ts'
import { until } from '../support/until.ts'

const analysisTypes = ['knn_graph', 'clustering', 'deduplication', 'feature_rollup']

/** Runs the examples of the guides as they are, with the address and keys of this server. */
let server: TestServer
let env: NodeJS.ProcessEnv

before(async () => {
  server = await startServer()
  for (const id of ['news', 'community']) await server.admin('PUT', `/admin/v1/datasets/${id}`, { name: id })
  const { key } = await server.makeApplication({
    entitlements: [{ datasets: ['news'] }],
    policy: { analysis_enabled: true, analysis: { types: analysisTypes, scheduling: true } },
  })
  const collector = await server.admin('POST', '/admin/v1/collectors', { name: 'Guide' })
  env = {
    ...process.env,
    TIDEMARK_KEY: key,
    TIDEMARK_COLLECTOR_KEY: (collector.body as { collector_key: string }).collector_key,
    TIDEMARK_ADMIN_TOKEN: adminToken,
  }
})
after(() => server?.stop())

const run = promisify(execFile)

async function codeOf(guide: string, language: string): Promise<string[]> {
  return codeIn(`console/guides/${guide}.md`, language)
}

async function codeIn(document: string, language: string): Promise<string[]> {
  const text = await readFile(new URL(`../../${document}`, import.meta.url), 'utf8')
  const fenced = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))
  return Array.from(fenced, ([, code]) => code!.replaceAll('http://127.0.0.1:8080', server.address))
}

async function runShell(code: string): Promise<Record<string, unknown>> {
  const { stdout } = await run('sh', ['-c', code], { env })
  const answer = JSON.parse(stdout) as Record<string, unknown>
  assert.equal(answer.code, undefined, stdout)
  return answer
}

async function send(...documents: readonly object[]): Promise<string[]> {
  const { body } = await server.call('POST', '/collector/v1/documents', {
    headers: { authorization: `Bearer ${env.TIDEMARK_COLLECTOR_KEY}` },
    body: { documents: documents.map((one) => ({ dataset_id: 'news', source_platform: 'rss', ...one })) },
  })
  return body.results.map((one: { document_id: string }) => one.document_id)
}

test('collectors, then first search', async () => {
  const [least] = await codeOf('collectors', 'sh')
  assert.equal(await outcomeOf(least!), 'created')
  const [search, count] = await codeOf('first-search', 'sh')
  assert.ok(Array.isArray((await runShell(search!)).results))
  const { facets } = (await runShell(count!)) as { facets: object }
  assert.deepEqual(Object.keys(facets), ['platform', 'topics', 'published_at'])
})

test('collectors: a document with every field, and a post that was deleted', async () => {
  const [, every, deleted] = await codeOf('collectors', 'sh')
  const inDocs = await codeIn('docs/collectors.md', 'sh')
  assert.deepEqual(inDocs.slice(1, 3), [every, deleted], 'docs/collectors.md shows the same')

  const described = (await server.call('GET', '/openapi.json')).body.components.schemas
  const [sent] = JSON.parse(/-d '([\s\S]*)'/.exec(every!)![1]!).documents
  assert.deepEqual(Object.keys(sent).sort(), Object.keys(described.DocumentInput.properties).sort())
  assert.deepEqual(Object.keys(sent.author).sort(), Object.keys(described.AuthorInput.properties).sort())
  const rows = (await readFile(new URL('../../docs/collectors.md', import.meta.url), 'utf8')).match(/^\| `.*?\|/gm)!
  for (const field of Object.keys(sent)) assert.ok(rows.join().includes(`\`${field}\``), `a row for ${field}`)

  assert.equal(await outcomeOf(every!), 'created')
  const before = await found('/v1/documents/browse?query=post-4711&source_platforms=forum')
  assert.equal(before.status, 'active')
  assert.equal(await outcomeOf(every!), 'unchanged')
  assert.equal(await outcomeOf(deleted!), 'updated')
  const after = await found('/v1/documents/browse?query=post-4711&source_platforms=forum')
  const { observed_at: _, ...kept } = before
  assert.deepEqual({ ...after, observed_at: undefined }, { ...kept, status: 'unavailable', observed_at: undefined })
})

async function outcomeOf(code: string): Promise<string> {
  const { results } = (await runShell(code)) as { results: { outcome: string }[] }
  assert.equal(results.length, 1)
  return results[0]!.outcome
}

async function found(path: string): Promise<Record<string, unknown>> {
  const { body } = await server.consumer(env.TIDEMARK_KEY!, 'GET', path)
  return body.documents[0].document
}

test('backfill and follow: what is there, what comes, and what goes', async () => {
  const [code] = await codeOf('backfill-and-follow', 'python')
  const use = `
import sys
saved = {}
def save(document): saved[document["id"]] = document["content"]["title"]
def say(cursor): print(json.dumps(sorted(saved.values())), flush=True)
cursor = backfill(save)
say(cursor)
follow(cursor, save, saved.pop, say)
`
  const reader = spawn('python3', ['-c', `${code}\n${use}`], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const told = createInterface({ input: reader.stdout })[Symbol.asyncIterator]()
  const next = async () => JSON.parse(String((await told.next()).value)) as string[]
  try {
    const before = await next()
    assert.ok(before.includes('High water at noon'), before.join())
    let last = before
    const becomes = async (expected: readonly string[]) => {
      let now = last
      // A page that was held until its timeout changes nothing.
      while (isDeepStrictEqual(now, last)) now = await next()
      assert.deepEqual(now, expected)
      last = now
    }
    const [id] = await send({ external_id: 'followed', title: 'Followed' })
    await becomes([...before, 'Followed'].sort())
    await send({ external_id: 'followed', title: 'Followed further' })
    await becomes([...before, 'Followed further'].sort())
    await server.mustAdmin('DELETE', `/admin/v1/documents/${id}`)
    await becomes(before)
  } finally {
    reader.kill('SIGKILL')
  }
})

test('a whole consumer, as it stands: its copy is what batch-get says, though the server is killed on the way', async () => {
  const door = await doorTo(() => server.address)
  const [code] = await codeIn('docs/consumers.md', 'python')
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-consumer-'))
  // Shorter times, so that a pause or a held page does not delay the test.
  const quick = code!
    .replace('wait=30', 'wait=1')
    .replace('return 5', 'return 0.1')
    .replaceAll(server.address, door.address)
  const consumer = spawn('python3', ['-u', '-c', quick], { env, cwd: folder })
  let said = ''
  for (const output of [consumer.stdout, consumer.stderr]) output.on('data', (piece) => (said += piece))
  const ended = once(consumer, 'exit')
  const copied = (): object[] => {
    const path = join(folder, 'copy.sqlite')
    if (!existsSync(path)) return []
    const copy = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
    try {
      const tables = copy.prepare("select 1 from sqlite_master where name = 'document'").all()
      const rows = tables.length === 0 ? [] : copy.prepare('select json from document order by id').all()
      return rows.map(({ json }) => JSON.parse(String(json)))
    } finally {
      copy.close()
    }
  }
  const equal = (ids: readonly string[]) =>
    until('the copy is what the server says', async () => {
      assert.equal(consumer.exitCode, null, said)
      const { body } = await server.consumer(env.TIDEMARK_KEY!, 'POST', '/v1/documents/batch-get', {
        document_ids: ids,
      })
      const wanted = new Map<string, object>(body.documents.map((one: { id: string }) => [one.id, one]))
      const own = copied().filter((one) => ids.includes((one as { id: string }).id))
      return (
        own.length === wanted.size && own.every((one) => isDeepStrictEqual(one, wanted.get((one as { id: string }).id)))
      )
    })
  try {
    const first = await send({ external_id: 'copied', title: 'Copied', body: 'By the export.', tags: ['first'] })
    await equal(first)
    await server.kill9()
    await until('it is waiting for the server', async () => said.includes('again in 5 s'))
    await server.start()
    const later = await send(
      { external_id: 'copied', title: 'Copied', tags: ['second'] },
      { external_id: 'copied-later', title: 'Copied later' },
    )
    await equal(later)
    await server.mustAdmin('DELETE', `/admin/v1/documents/${later[1]}`)
    await until('what is erased goes', async () => !JSON.stringify(copied()).includes(later[1]!))
    await equal(later)
    // The cursor was signed with a deleted key: the reader starts over and keeps running.
    assert.equal((await server.tidemark(['cursor-key', 'rotate', '--drop-old'])).code, 0)
    await equal([...later, ...(await send({ external_id: 'copied-last', title: 'Copied last' }))])
  } finally {
    consumer.kill('SIGKILL')
    await ended
    door.close()
    await rm(folder, { recursive: true })
  }
})

/** One stable address for a server that gets another port at each start. */
async function doorTo(address: () => string): Promise<{ readonly address: string; close: () => void }> {
  const door = createTcpServer((incoming) => {
    const outgoing = connect(Number(new URL(address()).port), '127.0.0.1')
    for (const [socket, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      socket.unref()
      socket.pipe(other)
      socket.on('error', () => {}).on('close', () => other.destroy())
    }
  })
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  return { address: `http://127.0.0.1:${(door.address() as AddressInfo).port}`, close: () => door.close() }
}

/** The collector from the document; it ends when it would wait for tasks. */
async function runCollector(address: string, key = env.TIDEMARK_COLLECTOR_KEY!) {
  const [code] = await codeIn('docs/collectors.md', 'python')
  const own = `
import sys, time
time.sleep = lambda seconds: sys.exit() if seconds == 5 else None
def look_for(query, most):
    if query == "trouble": raise Exception("the shop is closed")
    return [] if query == "nothing" else [{"external_id": query, "title" if query == "lamps" else "titel": "Lamps"}]
`
  const script = `${own}\n${code!.replaceAll(server.address, address)}`
  return run('python3', ['-c', script], { env: { ...env, TIDEMARK_COLLECTOR_KEY: key } })
}

test('a whole collector: what becomes of its tasks, and of a wrong key', async () => {
  const { stdout } = await runCollector(server.address)
  assert.equal(stdout, '', 'it has asked, and there was nothing')
  const { key } = await server.makeApplication({
    entitlements: [{ datasets: ['news'] }],
    policy: { live: { enabled: true } },
  })
  const ask = async (query: string) => {
    const { status, body } = await server.call('POST', '/v1/live-queries', {
      headers: { authorization: `Bearer ${key}`, 'idempotency-key': query },
      body: { query, datasets: ['news'], platforms: ['shop'], resource_kind: 'content' },
    })
    assert.equal(status, 202)
    return body.id as string
  }
  const asked: string[] = []
  for (const query of ['lamps', 'nothing', 'trouble', 'refused']) asked.push(await ask(query))
  assert.match((await runCollector(server.address)).stdout, /^refused: .*titel/)
  const runs = []
  for (const id of asked) runs.push((await server.consumer(key, 'GET', `/v1/live-queries/${id}`)).body.runs[0])
  assert.deepEqual(
    runs.map(({ status, items }) => [status, items]),
    [
      ['succeeded', 1],
      ['succeeded', 0],
      ['failed', 0],
      ['failed', 0],
    ],
  )
  assert.match(runs[2].error.message, /the shop is closed/)
  assert.match(runs[3].error.message, /titel/)

  await assert.rejects(runCollector(server.address, 'tml_wrong'), /HTTP Error 401: .*unauthorized/)
})

test('a whole collector: while the server says so, it waits and asks again', async () => {
  const answers = [503, 429, 200]
  const busy = createServer((request, response) => {
    request.resume()
    response.statusCode = answers.shift()!
    response.end(response.statusCode === 200 ? '{"tasks":[]}' : '{}')
  })
  await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve))
  await runCollector(`http://127.0.0.1:${(busy.address() as AddressInfo).port}`)
  busy.close()
  assert.deepEqual(answers, [])
})

test('entitlements', async () => {
  const [make, makeKey] = await codeOf('entitlements', 'sh')
  const { application_id } = await runShell(make!)
  const answer = await runShell(makeKey!.replace('APPLICATION_ID', String(application_id)))
  assert.match(JSON.stringify(answer), /tmc_/)
})

test('docs/analysis.md: a run of each type, and its files', async () => {
  const [account, ...code] = await codeIn('docs/analysis.md', 'sh')
  const download = code[analysisTypes.length + 2]!
  const [readRun, listFiles] = code.slice(analysisTypes.length)
  const { embedding_profiles } = (await runShell(account!)) as { embedding_profiles: Profile[] }
  const profile = embedding_profiles.find(({ is_default }) => is_default)!.id
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-analysis-'))
  try {
    for (const [i, type] of analysisTypes.entries()) {
      const made = await runShell(code[i]!.replace('multilingual-e5-small-q4', profile))
      assert.equal(made.analysis_type, type)
      env = { ...env, RUN: String(made.run_id) }
      let last = made
      await until('it has ended', async () => {
        last = await runShell(readRun!)
        return last.completed_at !== null
      })
      assert.equal(last.status, 'succeeded', JSON.stringify(last))
      for (const { artifact_id } of (await runShell(listFiles!)).artifacts as { artifact_id: string }[]) {
        env = { ...env, ARTIFACT: artifact_id }
        await run('sh', ['-c', download], { env, cwd: folder })
        assert.match((await readFile(join(folder, 'edges.parquet'))).toString('latin1'), /^PAR1.*PAR1$/s)
      }
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})

interface Profile {
  readonly id: string
  readonly is_default: boolean
}

test('docs/analysis.md: a subscription and its runs', async () => {
  const [create, read, readOn] = (await codeIn('docs/analysis.md', 'sh')).slice(-3)
  const { subscription_id, status } = (await runShell(create!)) as Record<string, string>
  assert.equal(status, 'active')
  env = { ...env, SUBSCRIPTION: subscription_id }
  let page: Record<string, unknown> = {}
  await until('its first run has ended', async () => {
    page = await runShell(read!)
    return (page.runs as unknown[]).length > 0
  })
  assert.deepEqual(
    (page.runs as { status: string }[]).map((run) => run.status),
    ['succeeded'],
  )
  env = { ...env, CURSOR: page.next_cursor as string }
  assert.deepEqual((await runShell(readOn!)).runs, [])
})
