import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { compileLater } from './compile-later.ts'

const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })
const object = (properties: Readonly<Record<string, object>>) => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
})

const fields = {
  text: { value: 'sea', schema: { type: 'string' } },
  time: { value: '2026-11-17T08:00:00.000Z', schema: { type: 'string', format: 'date-time' } },
  pattern: { value: 'ab', schema: { type: 'string', pattern: '^[a-z]+$' } },
  number: { value: 1.5, schema: { type: 'number' } },
  integer: { value: 7, schema: { type: 'integer' } },
  flag: { value: false, schema: { type: 'boolean' } },
  choice: { value: 'day', schema: { type: 'string', enum: ['day', 'week'] } },
  constant: { value: 'fixed', schema: { type: 'string', const: 'fixed' } },
  record: {
    value: { 'two\nlines': 1, '\u2028': 2, '': 3, constructor: 4 },
    schema: { type: 'object', patternProperties: { '^.*$': { type: 'number' } } },
  },
  list: { value: ['a', null], schema: { type: 'array', items: orNull({ type: 'string' }) } },
  object: { value: { inner: null }, schema: object({ inner: orNull({ type: 'string' }) }) },
}

test('values and nulls are serialised unchanged, also within one of several alternatives', async () => {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, orNull(schema)]))
  const other = object({ somethingElse: { type: 'string' } })
  const app = Fastify({ schemaController: { compilersFactory: compileLater } })
  const full = Object.fromEntries(Object.entries(fields).map(([name, { value }]) => [name, value]))
  const answers = [full, ...Object.keys(full).map((name) => ({ ...full, [name]: null }))]
  for (const [i, answer] of answers.entries()) {
    const response = { 200: object({ plain: object(properties), either: { anyOf: [other, object(properties)] } }) }
    app.get(`/${i}`, { schema: { response } }, async () => ({ plain: answer, either: answer }))
  }
  for (const [i, answer] of answers.entries()) {
    const answered = await app.inject(`/${i}`)
    assert.deepEqual([answered.statusCode, answered.json()], [200, { plain: answer, either: answer }])
  }
  await app.close()
})
