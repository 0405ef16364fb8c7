import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Description, plain, readModel, type Schema } from './openapi-model.ts'
import { limitWords, typeWords } from './schema-words.ts'

const description: Description = {
  info: { title: 'A', version: '1' },
  tags: [{ name: 'Second' }, { name: 'First', description: 'listed second' }],
  security: [{ consumer: [] }],
  paths: {
    '/v1/a/{id}': {
      parameters: [{ in: 'path', name: 'id', required: true }],
      get: { operationId: 'a.read', summary: 'Read', tags: ['First'], parameters: [{ in: 'query', name: 'limit' }] },
      delete: { operationId: 'a.remove', tags: ['Second'], security: [] },
    },
  },
  components: {
    schemas: {
      Error: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] },
      Loop: { $ref: '#/components/schemas/Loop' },
    },
  },
}

test('operations are grouped in the order of the tags, with the parameters of their path', () => {
  const { groups, operations } = readModel(description)
  assert.deepEqual(
    groups.map(({ name, operations: listed }) => [name, listed.map(({ id }) => id)]),
    [
      ['Second', ['a.remove']],
      ['First', ['a.read']],
    ],
  )
  const read = operations.find(({ id }) => id === 'a.read')!
  assert.deepEqual(
    read.parameters.map(({ name }) => name),
    ['id', 'limit'],
  )
  assert.equal(read.scheme, 'consumer')
  assert.equal(operations.find(({ id }) => id === 'a.remove')!.scheme, null)
})

test('equivalent schemas become one form', () => {
  const same = (schema: Schema) => plain(description, schema)
  assert.deepEqual(same({ type: ['string', 'null'] }), { type: 'string', nullable: true })
  assert.deepEqual(
    same({
      anyOf: [
        { const: 'a', type: 'string' },
        { const: 'b', type: 'string' },
      ],
    }),
    {
      type: 'string',
      enum: ['a', 'b'],
      nullable: false,
    },
  )
  assert.deepEqual(same({ anyOf: [{ type: 'integer' }, { type: 'null' }] }), { type: 'integer', nullable: true })
  const merged = same({ allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { more: { type: 'number' } } }] })
  assert.deepEqual(Object.keys(merged.properties ?? {}), ['code', 'more'])
  assert.deepEqual(merged.required, ['code'])
})

test('a reference to itself or to nothing does not loop', () => {
  assert.equal(plain(description, { $ref: '#/components/schemas/Loop' }).name, 'Loop')
  assert.equal(plain(description, { $ref: '#/components/schemas/Missing' }).name, 'Missing')
})

test('types and limits are put in words', () => {
  const words = (schema: Schema) => typeWords(description, schema)
  assert.equal(words({ type: 'array', items: { type: ['integer', 'null'] } }), 'array of integer or null')
  assert.equal(words({ $ref: '#/components/schemas/Error' }), 'Error')
  assert.equal(words({ type: 'object', additionalProperties: { type: 'number' } }), 'map of number')
  assert.deepEqual(limitWords(description, { type: 'string', minLength: 1, maxLength: 1000 }), [
    '1 to 1,000 characters',
  ])
  const pattern = (text: string) => limitWords(description, { type: 'string', pattern: text })
  assert.deepEqual(pattern('^[^\\x00]*$'), ['no NUL'])
  assert.deepEqual(pattern('^[^,\\s\\x00-\\x1f\\x7f]{1,128}$'), ['no commas, spaces, control characters'])
  assert.deepEqual(pattern('^[a-z]{2}$'), ['pattern ^[a-z]{2}$'])
  assert.deepEqual(pattern('^(de|en|zh)$'), ['one of 3'])
  assert.deepEqual(limitWords(description, { type: 'integer', exclusiveMinimum: 0 }), ['more than 0'])
  assert.deepEqual(limitWords(description, { type: 'array', maxItems: 1, default: [] }), ['up to 1 item', 'default []'])
})
