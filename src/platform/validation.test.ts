import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type TSchema, Type } from 'typebox'
import {
  choice,
  choices,
  describedBy,
  detailsOf,
  exactWithin,
  laterThan,
  messageOf,
  printablePattern,
  readOnce,
  validatorFor,
} from './validation.ts'

/** Returns the message for a value that the schema refuses; null if it is valid. */
function refusal(schema: TSchema, value: unknown, part = 'body'): string | null {
  const validate = validatorFor(schema, part)
  return validate(value) ? null : messageOf(detailsOf(validate.errors))
}

const strict = { additionalProperties: false } as const
const shortText = Type.String({ maxLength: 100 })
const time = Type.Optional(Type.String({ format: 'date-time' }))
const cases: [string, TSchema, unknown, string][] = [
  ['unknown field', Type.Object({}, strict), { a: 1 }, 'unknown field "a"'],
  [
    'mistyped field',
    Type.Object({ tags: Type.Optional(shortText) }, strict),
    { tag: 'x' },
    'unknown field "tag": did you mean "tags"?',
  ],
  [
    'mistyped field below',
    Type.Object({ of: Type.Array(Type.Object({ language: Type.Optional(shortText) }, strict), { maxItems: 9 }) }),
    { of: [{}, { langauge: 'x' }] },
    'unknown field "of.1.langauge": did you mean "language"?',
  ],
  ['missing field', Type.Object({ a: shortText }), {}, 'a is required'],
  ['text', Type.Object({ a: shortText }), { a: 1 }, 'a must be a string'],
  ['whole number', Type.Object({ a: Type.Integer() }), { a: 1.5 }, 'a must be a whole number'],
  ['yes or no', Type.Object({ a: Type.Boolean() }), { a: 'yes' }, 'a must be true or false'],
  ['list', Type.Object({ a: Type.Array(shortText, { maxItems: 9 }) }), { a: 'x' }, 'a must be a list'],
  ['the body itself', Type.Object({}), [], 'the body must be an object'],
  ['choice', Type.Object({ a: choice(['x', 'y']) }), { a: 'z' }, 'a must be one of x, y'],
  ['choice, with another type', Type.Object({ a: choice(['x', 'y']) }), { a: 5 }, 'a must be one of x, y'],
  [
    'time',
    Type.Object({ a: Type.String({ format: 'date-time' }) }),
    { a: 'noon' },
    'a must be an RFC 3339 time such as 2026-11-15T08:30:00Z',
  ],
  [
    'day',
    Type.Object({ a: Type.String({ format: 'date' }) }),
    { a: '2026-02-30' },
    'a must be a calendar day such as 2026-11-15',
  ],
  [
    'a time that must be later than another',
    Type.Object({ from: time, to: Type.String({ format: 'date-time', [laterThan]: 'from' }) }),
    { from: '2026-02-01T00:00:00Z', to: '2026-02-01T01:00:00+01:00' },
    'to must be later than from',
  ],
  [
    'printable',
    Type.Object({ a: Type.String({ maxLength: 9, pattern: printablePattern }) }),
    { a: '\u0007' },
    'a must not contain control characters or an unpaired surrogate',
  ],
  [
    'deep path',
    Type.Object({ a: Type.Array(Type.Object({ b: Type.Integer() }), { maxItems: 9 }) }),
    { a: [{ b: 1 }, { b: 'x' }] },
    'a.1.b must be a whole number',
  ],
  [
    'slashes and tildes in names',
    Type.Object({ 'a/b~c': Type.Integer() }),
    { 'a/b~c': 'x' },
    'a/b~c must be a whole number',
  ],
  ['empty list', Type.Object({ a: choices('X', ['x', 'y'], '') }), { a: [] }, 'a must not be empty'],
  [
    'same item twice',
    Type.Object({ a: choices('X', ['x', 'y'], '') }),
    { a: ['x', 'x'] },
    'a must not contain duplicates',
  ],
  [
    'long list',
    Type.Object({ a: Type.Array(shortText, { maxItems: 1 }) }),
    { a: ['', ''] },
    'a must have at most 1 item',
  ],
  ['short list', Type.Array(shortText, { minItems: 2, maxItems: 9 }), [''], 'the body must have at least 2 items'],
  ['empty text', Type.Object({ a: Type.String({ minLength: 1, maxLength: 2 }) }), { a: '' }, 'a must not be empty'],
  ['long text', Type.Object({ a: Type.String({ maxLength: 2 }) }), { a: 'abc' }, 'a must have at most 2 characters'],
  ['fields', Type.Object({}, { maxProperties: 2 }), { a: 1, b: 2, c: 3 }, 'the body must have at most 2 fields'],
  ['small number', Type.Number({ minimum: 0.5 }), 0, 'the body must be at least 0.5'],
  ['number at its bound', Type.Number({ exclusiveMaximum: 1 }), 1, 'the body must be less than 1'],
  ...['a\0', '\ud800', 'b\udc00'].flatMap((odd) =>
    [odd, { [odd]: 1 }, [{ deep: [odd] }]].map((value): [string, TSchema, unknown, string] => [
      `anything, with ${JSON.stringify(value)}`,
      Type.Object({ a: Type.Record(Type.String(), Type.Unknown(), { [exactWithin]: true }) }),
      { a: { fine: '\ud83c\udf0a', value } },
      'a must not contain NUL or an unpaired surrogate',
    ]),
  ),
  ['text or null', Type.Object({ a: Type.Union([shortText, Type.Null()]) }), { a: 1 }, 'a must be a string'],
  ['a choice of one', Type.Object({ a: choice(['x']) }), { a: 'y' }, 'a must be x'],
  [
    'a union of simple types, with none of them',
    Type.Object({ a: Type.Union([shortText, Type.Number(), Type.Boolean()]) }),
    { a: {} },
    'a must be a string or a number or true or false',
  ],
  [
    'a text or an object, whose field is at fault',
    Type.Object({ a: Type.Union([shortText, Type.Object({ b: Type.Integer({ minimum: 1 }) })]) }),
    { a: { b: 0 } },
    'a.b must be at least 1',
  ],
  [
    'a list of unions: each item for itself',
    Type.Object({ a: Type.Array(Type.Union([shortText, Type.Object({ b: Type.Integer() })]), { maxItems: 9 }) }),
    { a: [1, { b: 'x' }] },
    'a.0 must be a string or an object; a.1.b must be a whole number',
  ],
  [
    'object or null, its field at fault',
    Type.Union([Type.Object({ a: Type.Integer() }), Type.Null()]),
    { a: 'x' },
    'a must be a whole number',
  ],
]

test('a time is later than an absent one, an invalid one, or an earlier one', () => {
  const schema = Type.Object({
    from: Type.Optional(Type.Unknown()),
    to: Type.String({ maxLength: 99, [laterThan]: 'from' }),
  })
  const to = '2026-02-01T00:00:00Z'
  for (const from of [undefined, 5, 'noon', '2026-01-31T23:59:59Z']) assert.equal(refusal(schema, { from, to }), null)
})

for (const [name, schema, value, message] of cases) {
  test(`the message names the field and what it should be: ${name}`, () =>
    assert.equal(refusal(schema, value), message))
}

test('query texts become numbers and booleans, bodies stay as they are', () => {
  const schema = Type.Object({ n: Type.Integer(), b: Type.Boolean() })
  assert.equal(refusal(schema, { n: '5', b: 'true' }, 'querystring'), null)
  assert.equal(refusal(schema, { n: '5', b: 'true' }), 'n must be a whole number; b must be true or false')
  assert.equal(
    refusal(Type.Object({ n: Type.Integer() }), { n: ['5', '6'] }, 'querystring'),
    'n must be given only once',
  )
})

test('a whole number in a query is digits and nothing else', () => {
  const schema = Type.Object({ n: Type.Integer({ minimum: -50, maximum: 50 }) })
  for (const n of ['0', '5', '-5', '007']) assert.equal(refusal(schema, { n }, 'querystring'), null, n)
  for (const n of ['0x10', '1e1', '1.0', '+5', ' 5', '5 ', '', '0b1', '٥', 'Infinity', '--5', '5,']) {
    assert.equal(refusal(schema, { n }, 'querystring'), 'n must be a whole number', n)
  }
  assert.equal(refusal(schema, { n: '51' }, 'querystring'), 'n must be at most 50')
})

test('three faults are named, the rest counted, and at most twenty listed', () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, 1]))
  assert.match(
    refusal(Type.Object({}, strict), many)!,
    /^unknown field "f0"; unknown field "f1"; unknown field "f2", and 17 more$/,
  )
})

test('duplicates in a list are removed before its items are counted', () => {
  const schema = Type.Object({ a: Type.Array(shortText, { minItems: 1, maxItems: 2, [readOnce]: true }) })
  for (const [sent, read] of [
    [['x', 'x'], ['x']],
    [
      ['y', 'x', 'y', 'x', 'x'],
      ['y', 'x'],
    ],
  ]) {
    const value = { a: sent }
    assert.equal(refusal(schema, value), null)
    assert.deepEqual(value, { a: read })
  }
  assert.equal(refusal(schema, { a: ['x', 'y', 'x', 'z'] }), 'a must have at most 2 items')
  assert.equal(refusal(schema, { a: Array(100_000).fill('x') }), 'a must have at most 2 items')
  assert.equal(refusal(schema, { a: ['x', 5, 5] }), 'a.1 must be a string')
})

test('no value makes validation itself fail, and a refusal always has a message', () => {
  const schema = Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: 5, pattern: printablePattern }),
      tags: Type.Optional(Type.Array(shortText, { maxItems: 2, [readOnce]: true })),
      when: Type.Optional(Type.Union([Type.String({ format: 'date-time' }), Type.Null()])),
    },
    strict,
  )
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), fc.record({ name: fc.jsonValue(), tags: fc.jsonValue(), when: fc.jsonValue() })),
      (value) => {
        const message = refusal(schema, value)
        assert.ok(message === null || message.length > 5)
      },
    ),
    { numRuns: 1000 },
  )
})

test('a schema that would let one value cost more than its size is refused before it is used', () => {
  const unbounded: [TSchema, RegExp][] = [
    [Type.Array(shortText), /the whole is a list without maxItems/],
    [Type.Object({ a: Type.Object({ b: Type.Array(shortText) }) }), /\/a\/b is a list without maxItems/],
    [Type.Union([Type.Array(shortText), Type.Null()]), /list without maxItems/],
    [Type.Array(Type.Array(shortText), { maxItems: 1 }), /\/\* is a list without maxItems/],
    [Type.Record(shortText, Type.Array(shortText), { maxProperties: 1 }), /list without maxItems/],
    [
      Type.Array(Type.Enum(['a']), { maxItems: 9, uniqueItems: true }),
      /items without a simple type.*choice without type/,
    ],
    [Type.Array(Type.Object({}), { maxItems: 9, uniqueItems: true }), /items without a simple type/],
    [Type.Object({ a: Type.Enum(['a']) }), /\/a is a choice without type/],
    [Type.Object({ a: Type.Unsafe({ const: 1 }) }), /\/a is a choice without type/],
    [Type.Object({ a: Type.String() }), /\/a is a text without a length limit/],
    [Type.String({ pattern: '^[a-z]{2,}$' }), /text without a length limit/],
    [Type.String({ pattern: '^[a-z]*$' }), /text without a length limit/],
    [Type.String({ pattern: '^[a-z]{2}' }), /text without a length limit/],
    [Type.Record(Type.String(), Type.Number()), /object without maxProperties/],
    [Type.Object({}, { additionalProperties: Type.Number() }), /object without maxProperties/],
  ]
  for (const [schema, message] of unbounded) assert.throws(() => validatorFor(schema, 'body'), message)
  const bounded = [
    Type.Array(choice(['a']), { maxItems: 9, uniqueItems: true }),
    Type.String({ pattern: '^[^*+]{1,9}[{]?$' }),
    Type.Record(Type.String(), Type.Unknown()),
    choices('A', ['a', 'b'], 'Some.'),
  ]
  for (const schema of bounded) validatorFor(schema, 'body')
  validatorFor(Type.Object({ a: Type.String() }), 'querystring')
})

test('every fault is reported for a value of ten thousand parts, and the first one for a larger value', () => {
  const schema = Type.Object(
    { numbers: Type.Array(Type.Number(), { maxItems: 100_000 }), a: Type.Integer(), b: Type.Integer() },
    strict,
  )
  const faulty = (parts: number) => ({ numbers: Array.from({ length: parts - 4 }, () => 1), a: 'x', b: 'y', c: 'z' })
  assert.equal(refusal(schema, faulty(9_999)), 'unknown field "c"; a must be a whole number; b must be a whole number')
  assert.equal(refusal(schema, faulty(10_002)), 'unknown field "c"')
  assert.equal(refusal(schema, { numbers: Array.from({ length: 90_000 }, () => 1), a: 1, b: 2 }), null)
})

test('an unescaped + in a time of a URL is explained; in a body a space is an ordinary fault', () => {
  const schema = Type.Object({ a: Type.String({ format: 'date-time' }) })
  const refusalOf = (query: string) => refusal(schema, Object.fromEntries(new URLSearchParams(query)), 'querystring')
  const explained = 'a has a space instead of +: encode + as %2B in a URL'
  assert.equal(refusalOf('a=2026-11-16T00:00:00+01:00'), explained)
  assert.equal(refusalOf('a=2026-11-16T00:00:00.250+01:00'), explained)
  assert.equal(refusalOf('a=2026-11-16T00:00:00%2B01:00'), null)
  const usual = 'a must be an RFC 3339 time such as 2026-11-15T08:30:00Z'
  for (const query of ['a=2026-11-16+00:00', 'a=noon', 'a=']) assert.equal(refusalOf(query), usual)
  assert.equal(refusal(schema, { a: '2026-11-16T00:00:00 01:00' }), usual)
})

test('null counts as absent for optional fields that have no meaning for it', () => {
  const item = Type.Object({ id: shortText, note: Type.Optional(shortText) }, strict)
  const schema = Type.Object(
    {
      name: shortText,
      size: Type.Optional(Type.Integer({ default: 5 })),
      cleared: Type.Optional(Type.Union([shortText, Type.Null()])),
      any: Type.Optional(Type.Unknown()),
      list: Type.Optional(Type.Array(item, { maxItems: 9 })),
      either: Type.Optional(Type.Union([shortText, item])),
      open: Type.Unsafe<object>({
        type: 'object',
        [describedBy]: Type.Union([Type.Object({ k: Type.Optional(Type.Integer()) }), Type.Object({ by: shortText })]),
      }),
    },
    strict,
  )
  const read = (value: object, nullIsAbsent = true) => {
    const validate = validatorFor(schema, 'body', { nullIsAbsent })
    return validate(value) ? value : messageOf(detailsOf(validate.errors))
  }
  const least = { name: 'a', open: {} }
  assert.deepEqual(read({ ...least, size: null, list: null, either: null }), { ...least, size: 5 })
  assert.deepEqual(read({ ...least, size: 1, cleared: null, any: null }), {
    ...least,
    size: 1,
    cleared: null,
    any: null,
  })
  assert.deepEqual(read({ ...least, list: [{ id: 'b', note: null }], either: { id: 'c', note: null } }), {
    ...least,
    size: 5,
    list: [{ id: 'b' }],
    either: { id: 'c' },
  })
  assert.deepEqual(read({ name: 'a', size: 1, open: { k: null, by: null, more: null } }), {
    name: 'a',
    size: 1,
    open: { by: null, more: null },
  })
  assert.equal(read({ ...least, name: null }), 'name must be a string')
  assert.equal(read({ ...least, list: [null] }), 'list.0 must be an object')
  assert.equal(read({ ...least, list: [{ id: null }] }), 'list.0.id must be a string')
  assert.equal(read({ ...least, surprise: null }), 'unknown field "surprise"')
  assert.equal(read({ ...least, size: null }, false), 'size must be a whole number')
})
