/**
 * Records the examples of the API description: starts a server with some of the sample data, uses every operation once
 * as its users would, and writes requests and responses to src/http/openapi-examples.json.
 *
 *   npx node scripts/record-examples.ts      after an operation was added, or its response has changed
 *
 * Long texts and lists are cut, and secrets are left out.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Answer, startServer } from '../test/acceptance/harness.ts'
import { type Asked, ask, operationsOf, useEveryOperation } from '../test/walks/every-operation.ts'

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

/** Uses an operation, and records request and response. */
async function record(operationId: string, credential: string | null, asked: Asked = {}): Promise<Answer['body']> {
  const answer = await ask(server, operations.get(operationId)!, credential, asked)
  const parameters = { ...asked.path, ...asked.query, ...asked.headers }
  const isLines = answer.headers.get('content-type')?.startsWith('application/x-ndjson') ?? false
  const isFile = !/json|text/.test(answer.headers.get('content-type') ?? '')
  examples[operationId] = {
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
    // Uncut, because it is shown as something to send.
    ...(asked.body === undefined ? {} : { body: asked.body }),
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
if (missing.length > 0) throw new Error(`nothing was recorded of ${missing.join(', ')}`)
writeFileSync(file, JSON.stringify(examples, null, 2))
execFileSync('npx', ['biome', 'format', '--write', fileURLToPath(file)])
console.log(`${Object.keys(examples).length} operations`)
