import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { builtInModel, startServer } from '../acceptance/harness.ts'
import { operationsOf, sendRequest, useEveryOperation } from './every-operation.ts'

interface Media {
  readonly schema: { readonly $ref?: string }
}

test('every described operation works and responds as described', async () => {
  const server = await startServer({ env: builtInModel })
  const { body: description } = await server.call('GET', '/openapi.json')
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(description, 'api')
  const operations = operationsOf(description)
  const used = new Set<string>()
  await useEveryOperation(server, async (operationId, credential, parts = {}) => {
    const operation = operations.get(operationId)
    assert.ok(operation !== undefined, `${operationId} is not described`)
    const answer = await sendRequest(server, operation, credential, parts)
    used.add(operationId)
    const { responses } = description.paths[operation.path][operation.method.toLowerCase()]
    const described = responses[answer.status]
    assert.ok(described !== undefined, `${operationId}: the status ${answer.status} is not described`)
    const type = (answer.headers.get('content-type') ?? '').split(';')[0]!
    if (answer.text === '') return answer.body
    const media: Media | undefined = described.content?.[type]
    assert.ok(media !== undefined, `${operationId}: ${type} is not described`)
    if (type !== 'application/json') return answer.body
    const { schema } = media
    const valid = ajv.compile(schema.$ref === undefined ? schema : { $ref: `api${schema.$ref}` })
    assert.ok(valid(answer.body), `${operationId}: ${JSON.stringify(valid.errors)}`)
    return answer.body
  })
  assert.deepEqual(
    [...operations.keys()].filter((operationId) => !used.has(operationId)),
    [],
  )
})
