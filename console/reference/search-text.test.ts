import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Description, readModel } from './openapi-model.ts'
import { find, searchTextOf } from './search-text.ts'

const description: Description = {
  info: { title: 'A', version: '1' },
  paths: {
    '/v1/changes': {
      get: {
        operationId: 'changes.read',
        summary: 'Follow',
        description: 'Nothing is ever skipped.',
        parameters: [{ in: 'query', name: 'cursor', description: 'Of the previous page.' }],
        responses: {
          200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Page' } } } },
          400: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } } },
        },
      },
    },
  },
  components: {
    schemas: {
      Page: {
        type: 'object',
        properties: {
          items: { type: 'array', items: { anyOf: [{ $ref: '#/components/schemas/Page' }, { type: 'null' }] } },
          kind: { enum: ['document.created'] },
          inner: { type: 'object', properties: { deep_field: { type: 'string', description: 'Rarely seen.' } } },
        },
      },
      Error: { type: 'object', properties: { request_id: { type: 'string' } } },
    },
  },
}
const { groups } = readModel(description)
const text = searchTextOf(description, groups[0]!, groups[0]!.operations[0]!)

test('the filter finds an operation by its fields and texts, and says where', () => {
  const where = (words: string) => find(text, words.split(' '))?.where
  assert.equal(where('changes'), null)
  assert.equal(where('curs'), 'cursor')
  assert.equal(where('previous'), 'cursor')
  assert.equal(where('deep_'), 'deep_field')
  assert.equal(where('rarely'), 'deep_field')
  assert.equal(where('document.created'), 'kind')
  assert.equal(where('follow skipped'), 'in the text')
})

test('every word must be found, and the fields of errors belong to no operation', () => {
  assert.equal(find(text, ['cursor', 'nowhere']), null)
  assert.equal(find(text, ['request_id']), null)
})
