import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type CodeLanguage, codeLanguages, codeOf, type ShownRequest } from './request-code.ts'

/** The displayed code is run in its language, and must send exactly this request. */
interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const seen: Seen[] = []
const server = createServer(async (request, response) => {
  let body = ''
  for await (const part of request.setEncoding('utf8')) body += part
  seen.push({ method: request.method!, url: request.url!, headers: request.headers, body })
  response.statusCode = request.url === '/missing' ? 404 : 200
  response.setHeader('content-type', 'application/json').end('{"found":true}')
})
let folder: string
let address: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-code-'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
after(async () => {
  server.close()
  await rm(folder, { recursive: true })
})

const run = promisify(execFile)
const runners: Readonly<Record<CodeLanguage, (file: string) => [string, string[]]>> = {
  curl: (file) => ['sh', [file]],
  Python: (file) => ['python3', [file]],
  TypeScript: (file) => [process.execPath, [file]],
}

/** Runs the code. Returns the request that the server got, and the output. */
async function send(language: CodeLanguage, request: ShownRequest): Promise<{ request: Seen; printed: string }> {
  const file = join(folder, language === 'TypeScript' ? 'code.mts' : 'code')
  await writeFile(file, codeOf(language, request))
  const [command, parameters] = runners[language](file)
  const env = { ...process.env, TIDEMARK_KEY: 'tmc_of_the_environment' }
  const { stdout } = await run(command, parameters, { cwd: folder, env })
  return { request: seen.pop()!, printed: stdout.trim() }
}

const awkward = {
  query: `it's "quoted" \\ \${x} $HOME \`ls\` %s {0} – 海 🌊\nand a line`,
  limit: 3,
  weights: [0.5, -1e-7],
  words: ['[a, b]', '"],\n  ["', 'true'],
  long: Array.from({ length: 40 }, (_, i) => i),
  nested: [[1, 2], [{ a: [null] }]],
  on: true,
  off: false,
  none: null,
  true: 'null false',
  'a-b': { inner: [] },
}

for (const language of codeLanguages) {
  test(`${language}: a JSON body arrives unchanged, with the key from the environment`, async () => {
    const body = JSON.stringify(awkward, null, 2)
    const headers = { 'Idempotency-Key': "it's 1", 'Content-Type': 'application/json' }
    const url = `${address}/v1/search?a=b,c&d=%20e`
    const shown = { method: 'POST', url, headers, body, variable: 'TIDEMARK_KEY', answer: { kind: 'json' } } as const
    const { request, printed } = await send(language, shown)
    assert.deepEqual([request.method, request.url], ['POST', '/v1/search?a=b,c&d=%20e'])
    assert.deepEqual(JSON.parse(request.body), awkward)
    assert.equal(request.headers.authorization, 'Bearer tmc_of_the_environment')
    assert.equal(request.headers['idempotency-key'], "it's 1")
    assert.equal(request.headers['content-type'], 'application/json')
    assert.match(printed, /found.*true/i)
  })

  test(`${language}: lines, another method, no credential, and a response that is a file`, async () => {
    const body = `${JSON.stringify({ title: 'one "a"' })}\n${JSON.stringify({ title: "two 'b'" })}\n`
    const headers = { 'Content-Type': 'application/x-ndjson' }
    const answer = { kind: 'file', name: 'answer.parquet' } as const
    const shown = { method: 'PUT', url: `${address}/x`, headers, body, variable: null, answer }
    const { request } = await send(language, shown)
    assert.deepEqual([request.method, request.body], ['PUT', body])
    assert.equal(request.headers.authorization, undefined)
    assert.equal(await readFile(join(folder, 'answer.parquet'), 'utf8'), '{"found":true}')
    const missing = { ...shown, url: `${address}/missing`, answer: { kind: 'file', name: 'missing.parquet' } } as const
    await assert.rejects(send(language, missing), /404|found/)
    await assert.rejects(readFile(join(folder, 'missing.parquet')), { code: 'ENOENT' })
  })

  test(`${language}: a request without a body`, async () => {
    const shown = { method: 'GET', url: `${address}/healthz`, headers: {}, body: null, variable: null } as const
    const text = await send(language, { ...shown, answer: { kind: 'text' } })
    assert.deepEqual([text.request.method, text.request.url, text.printed], ['GET', '/healthz', '{"found":true}'])
    await send(language, { ...shown, method: 'DELETE', answer: { kind: 'none' } })
  })
}
