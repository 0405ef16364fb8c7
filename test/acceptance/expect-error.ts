import assert from 'node:assert/strict'
import type { Answer, TestServer } from './harness.ts'

interface Description {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, object>> }>>>
  >
  readonly components: { readonly schemas: { readonly Error: { properties: { code: { enum: readonly string[] } } } } }
}

const descriptions = new WeakMap<TestServer, Promise<Description>>()

/** The server's own description. It must contain every error that a test meets. */
function descriptionOf(server: TestServer): Promise<Description> {
  let description = descriptions.get(server)
  if (description === undefined) {
    description = server.call('GET', '/openapi.json').then(({ body }) => body)
    descriptions.set(server, description)
  }
  return description
}

/** The described answers of a request; null if its path is not described. */
function describedAnswers({ paths }: Description, asked: Answer['asked']): Readonly<Record<string, object>> | null {
  if (asked === undefined) return null
  const path = asked.path.split('?', 1)[0]!
  const found = Object.keys(paths)
    .filter((template) => new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(path))
    // A path without parameters takes precedence over one with parameters.
    .sort((a, b) => a.split('{').length - b.split('{').length)
  return paths[found[0] ?? '']?.[asked.method.toLowerCase()]?.responses ?? null
}

/** Internals that must never be visible from outside: stack traces, SQL, folders, messages of the database. */
const insides =
  /node_modules|\.ts\b|\n\s+at |\/src\/|SQLITE|sqlite|\bselect .* from\b|\binsert into\b|RangeError|TypeError/

/** The one form of every error: status, code, a message for people and the request's id, without internals. */
export async function expectError(server: TestServer, answer: Answer, status: number, code: string): Promise<void> {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.body.code, code, answer.text)
  expectErrorShape(answer.body, answer.headers.get('x-request-id'), answer.text)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.doesNotMatch(answer.text, insides)
  assert.ok(!answer.text.includes(server.dataDir), answer.text)
  const description = await descriptionOf(server)
  assert.ok(description.components.schemas.Error.properties.code.enum.includes(code), `${code} is not described`)
  const described = describedAnswers(description, answer.asked)
  if (described !== null && code !== 'internal') {
    const { method, path } = answer.asked!
    assert.ok(status in described, `${method} ${path} does not tell of ${status} (${code})`)
  }
  if (status === 401) assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
  // If live collection is switched off, waiting does not help. Its own tests check that case.
  const waitingHelps = status === 429 || (status === 503 && code !== 'live_query_unavailable')
  if (waitingHelps) assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
}

function expectErrorShape(body: Record<string, unknown>, requestId: string | null, text: string): void {
  const { code, message, request_id, details, ...rest } = body
  assert.deepEqual(rest, {}, text)
  assert.equal(typeof code, 'string')
  assert.ok(typeof message === 'string' && message.length > 0, text)
  assert.ok(typeof request_id === 'string' && request_id === requestId, text)
  if (details === undefined) return
  assert.ok(Array.isArray(details) && details.length > 0, text)
  for (const detail of details) {
    assert.deepEqual(Object.keys(detail).sort(), ['message', 'path'])
    assert.equal(typeof detail.path, 'string')
    assert.equal(typeof detail.message, 'string')
  }
}

/** An answer from a raw connection, in the form of the other answers. */
export function parseRaw(text: string): Answer {
  const split = text.indexOf('\r\n\r\n')
  const [statusLine, ...lines] = text.slice(0, split).split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => [line.split(':', 1)[0]!, line.slice(line.indexOf(':') + 1)]),
  )
  let body = text.slice(split + 4)
  if (headers.get('transfer-encoding') === 'chunked') body = body.replace(/^[0-9a-f]+\r\n|\r\n0\r\n\r\n$/gi, '')
  const isJson = (headers.get('content-type') ?? '').startsWith('application/json')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine!)?.[1])
  return { status, headers, text: body, body: isJson ? JSON.parse(body) : body }
}
