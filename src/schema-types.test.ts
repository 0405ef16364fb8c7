import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TSchema, Type as TypeBox } from 'typebox'
import { Type } from './schema-types.ts'

const mark = Symbol('kept')
const about = { description: 'of it', [mark]: true }

/** The same made by either. */
const made: Readonly<Record<string, (t: typeof Type) => readonly TSchema[]>> = {
  'a text, a number, a whole one, yes or no, nothing, anything': (t) => [
    ...[t.String(), t.Number(), t.Integer(), t.Boolean(), t.Null(), t.Unknown()],
    ...[t.String(about), t.Number(about), t.Integer(about), t.Boolean(about), t.Null(about), t.Unknown(about)],
  ],
  'a list': (t) => [t.Array(t.String()), t.Array(t.String(), { maxItems: 9, ...about })],
  'an object': (t) => [
    t.Object({ a: t.String(), b: t.Optional(t.Integer({ minimum: 1, ...about })), c: t.Optional(t.String()) }, about),
    t.Object({ a: t.Optional(t.Optional(t.String())) }),
    t.Object({ a: t.Object({ b: t.String() }), c: t.Optional(t.Object({})) }),
    t.Object({}, { additionalProperties: false }),
  ],
  'a map, of any keys or of those of a pattern': (t) => [
    t.Record(t.String(), t.Number()),
    t.Record(t.String({ pattern: '^a' }), t.Number(), about),
  ],
  'one of several': (t) => [t.Union([t.String(), t.Null()]), t.Union([t.String(), t.Null()], about)],
  'a choice': (t) => [t.Enum(['a', 'b']), t.Enum(['a', 'b'], { type: 'string', ...about })],
  'one value': (t) => [t.Literal('a'), t.Literal(1), t.Literal(true, about)],
  'what has no type, with a mark and with one that a copy has lost': (t) => [
    t.Object({ a: t.Unsafe({ const: 1, ...about }), b: t.Optional(t.Unsafe({ const: 2 })) }),
    t.Object({ a: t.Unsafe(t.Optional(t.String())), b: t.Unsafe({ ...t.Optional(t.String()) }) }),
  ],
}

for (const [what, make] of Object.entries(made)) {
  test(`a schema is as TypeBox makes it: ${what}`, () => {
    // With symbols, and in the order in which OpenAPI shows it.
    assert.deepEqual(make(Type), make(TypeBox))
    assert.equal(JSON.stringify(make(Type)), JSON.stringify(make(TypeBox)))
  })
}

test('what may be left out is known by its mark', () => {
  const one = Type.Optional(Type.String())
  const schemas = [one, Type.String(), Type.Unsafe(one), Type.Unsafe({ ...one })]
  assert.deepEqual(schemas.map(Type.IsOptional), [true, false, true, false])
  assert.deepEqual(schemas.map(TypeBox.IsOptional), [true, false, true, false])
})
