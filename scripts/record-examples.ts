/**
 * Records the examples of the API description: starts a server with some of the sample data, calls every operation
 * once, and writes requests and responses to src/http/openapi-examples.json.
 *
 *   npx node scripts/record-examples.ts      run this after an operation was added or its response has changed
 *
 * Long texts and lists are cut, and secrets are left out.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Answer, startServer } from '../test/acceptance/harness.ts'
import { operationsOf, type RequestParts, sendRequest, useEveryOperation } from '../test/walks/every-operation.ts'

const file = new URL('../src/http/openapi-examples.json', import.meta.url)
const itemsMax = 2
const charactersMax = 280

interface Example {
  readonly parameters?: object
  readonly body?: unknown
  readonly status: number
  readonly answer?: unknown
}

const server = await startServer()
const { body: description } = await server.call('GET', '/openapi.json')
const operations = operationsOf(description)
const examples: Record<string, Example> = {}

/** Calls an operation, and records the request and the response. */
async function record(
  operationId: string,
  credential: string | null,
  parts: RequestParts = {},
): Promise<Answer['body']> {
  const answer = await sendRequest(server, operations.get(operationId)!, credential, parts)
  const parameters = { ...parts.path, ...parts.query, ...parts.headers }
  const isLines = answer.headers.get('content-type')?.startsWith('application/x-ndjson') ?? false
  const isFile = !/json|text/.test(answer.headers.get('content-type') ?? '')
  examples[operationId] = {
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    // Not shortened, because readers send it.
    ...(parts.body === undefined ? {} : { body: parts.body }),
    status: answer.status,
    ...(isFile || operationId === 'openapi.read' ? {} : { answer: isLines ? answer.text : shortened(answer.body) }),
  }
  return answer.body
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') {
    const secret = /^(tm[cla]_)/.exec(value)
    if (secret !== null) return `${secret[1]}…`
    return value.length > charactersMax ? `${value.slice(0, charactersMax)}…` : value
  }
  if (Array.isArray(value)) return value.slice(0, itemsMax).map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]))
}

await useEveryOperation(server, record)
await server.stop()

const missing = [...operations.keys()].filter((operation) => !(operation in examples))
if (missing.length > 0) throw new Error(`nothing was recorded for ${missing.join(', ')}`)
writeFileSync(file, JSON.stringify(examples, null, 2))
execFileSync('npx', ['biome', 'format', '--write', fileURLToPath(file)])
console.log(`${Object.keys(examples).length} operations`)
