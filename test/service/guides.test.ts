import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { adminToken, builtInModel, startServer, type TestServer } from '../acceptance/harness.ts'

/** What the guides show is run as it stands, with this server's address and keys. */
let server: TestServer
let env: NodeJS.ProcessEnv

before(async () => {
  server = await startServer({ env: builtInModel })
  for (const id of ['news', 'community']) await server.admin('PUT', `/admin/v1/datasets/${id}`, { name: id })
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
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
  const text = await readFile(new URL(`../../console/guides/${guide}.md`, import.meta.url), 'utf8')
  const fenced = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))
  return Array.from(fenced, ([, code]) => code!.replaceAll('http://127.0.0.1:8080', server.address))
}

async function runShell(code: string): Promise<Record<string, unknown>> {
  const { stdout } = await run('sh', ['-c', code], { env })
  const answer = JSON.parse(stdout) as Record<string, unknown>
  assert.equal(answer.code, undefined, stdout)
  return answer
}

test('collectors, then first search', async () => {
  const [send] = await codeOf('collectors', 'sh')
  const { results } = (await runShell(send!)) as { results: { error?: object; outcome: string }[] }
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['created'],
  )
  const [search] = await codeOf('first-search', 'sh')
  assert.ok(Array.isArray((await runShell(search!)).results))
})

test('backfill and follow', async () => {
  const [code] = await codeOf('backfill-and-follow', 'python')
  const use = `
class Enough(Exception): pass
def keep(cursor): raise Enough
saved, events = [], []
backfill(datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=70), saved.append)
try: follow(None, events.append, keep)
except Enough: pass
print(json.dumps([[one["external_id"] for one in saved], [one["event_type"] for one in events]]))
`
  const { stdout } = await run('python3', ['-c', `${code}\n${use}`], { env })
  assert.deepEqual(JSON.parse(stdout), [['a-1'], ['document.created']])
})

test('entitlements', async () => {
  const [make, makeKey] = await codeOf('entitlements', 'sh')
  const { application_id } = await runShell(make!)
  const answer = await runShell(makeKey!.replace('APPLICATION_ID', String(application_id)))
  assert.match(JSON.stringify(answer), /tmc_/)
})
