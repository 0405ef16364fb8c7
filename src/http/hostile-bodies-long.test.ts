import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { compose } from '../compose/compose.ts'
import { exceededJsonLimit, jsonLimits } from '../platform/json-text.ts'
import { detailsOf, messageOf, validatorFor } from '../platform/validation.ts'
import { readConfig } from '../settings/config.ts'

/**
 * For every body that any route accepts, puts a hostile value of about a megabyte into every position. Each body must
 * be parsed, checked and answered with little processor time, because all callers share the processor.
 */
const cpuMsMax = 250

interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly $ref?: string
}

let folder: string
/** By operation, with the schema of one document. */
const bodies = new Map<string, Schema>()

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-hostile-'))
  const instance = await compose(readConfig({ TIDEMARK_DATA_DIR: folder }), pino({ level: 'silent' }))
  const { paths = {}, components } = (await instance.app.describe()) as unknown as {
    paths: Record<
      string,
      Record<string, { operationId: string; requestBody?: { content: Record<string, { schema: Schema }> } }>
    >
    components: { schemas: Record<string, Schema> }
  }
  await instance.close()
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const schema = operation.requestBody?.content['application/json']?.schema
    if (schema !== undefined) bodies.set(operation.operationId, withoutReferences(schema, components.schemas) as Schema)
  }
  bodies.set('one document', withoutReferences(components.schemas.DocumentInput, components.schemas) as Schema)
})
after(() => rm(folder, { recursive: true, force: true }))

/** Items that are checked one by one accept any value in the schema of the whole body. */
function withoutReferences(part: unknown, schemas: Readonly<Record<string, Schema>>): unknown {
  if (typeof part !== 'object' || part === null) return part
  if (Array.isArray(part)) return part.map((one) => withoutReferences(one, schemas))
  if ('$ref' in part) {
    const name = String(part.$ref).split('/').at(-1)!
    return name.endsWith('DocumentInput') ? {} : withoutReferences(schemas[name], schemas)
  }
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, withoutReferences(one, schemas)]))
}

const texts = ['aa', 'https://a.example', '2026-11-15T08:30:00Z', '2026-11-15']

/** The smallest valid value, so that a validator that stops at the first fault continues. */
function sampleOf(schema: Schema): unknown {
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return sampleOf(schema.anyOf[0]!)
  switch (schema.type) {
    case 'string':
      return texts.find((text) => validatorFor(schema, 'body')(text))
    case 'boolean':
      return true
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 1)
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items!))
    case 'object':
      return Object.fromEntries((schema.required ?? []).map((name) => [name, sampleOf(schema.properties![name]!)]))
    default:
      return null
  }
}

interface Position {
  readonly path: string
  readonly schema: Schema
  readonly put: (hostile: unknown) => unknown
}

/** Every position for a value in an otherwise valid body. */
function* positionsIn(schema: Schema, path = '', put: Position['put'] = (hostile) => hostile): Generator<Position> {
  yield { path, schema, put }
  for (const one of schema.anyOf ?? []) if (one.type !== 'null') yield* positionsIn(one, path, put)
  const sample = sampleOf(schema)
  for (const [name, below] of Object.entries(schema.properties ?? {})) {
    yield* positionsIn(below, `${path}/${name}`, (hostile) => put({ ...(sample as object), [name]: hostile }))
  }
  for (const below of [...Object.values(schema.patternProperties ?? {}), schema.additionalProperties]) {
    if (typeof below === 'object') yield* positionsIn(below, `${path}/any`, (hostile) => put({ any: hostile }))
  }
  const { items } = schema
  if (items === undefined) return
  // A list of the greatest length that is wrong only at its end.
  const one = sampleOf(items)
  const filled = Array.from({ length: schema.maxItems! - 1 }, (_, i) => (items.type === 'string' ? `a${i}` : one))
  yield* positionsIn(items, `${path}/last`, (hostile) => put([...filled, hostile]))
}

const megabyte = 1_000_000
const list = (item: (i: number) => string): string => {
  const items: string[] = []
  for (let i = 0, length = 0; length < megabyte; i++) length += items[items.push(item(i)) - 1]!.length + 1
  return `[${items.join()}]`
}
const object = (value: (i: number) => string): string =>
  `{${list((i) => `"${i.toString(36)}k":${value(i)}`).slice(1, -1)}}`
const text = (part: string): string => JSON.stringify(part.repeat(megabyte / part.length))
/** Parsed from JSON, because the engine represents parsed values differently from computed ones. */
const hostile: Readonly<Record<string, string>> = {
  'lists of a number': list((i) => `[${i}]`),
  'empty lists': list(() => '[]'),
  'empty objects': list(() => '{}'),
  'equal objects': list(() => '{"a":{"b":[1]}}'),
  'different texts': list((i) => `"${i.toString(36)}"`),
  'one repeated text': list(() => '"title"'),
  numbers: list(String),
  nulls: list(() => 'null'),
  'unknown fields': object(() => '1'),
  'unknown fields with lists': object((i) => `[${i}]`),
  'a name as long as all': `{"${'n'.repeat(megabyte - 10)}":${JSON.stringify([1, [2]])}}`,
  'names with a common prefix': `{${Array.from({ length: 2000 }, (_, i) => `"${'n'.repeat(490)}${i}":[]`).join()}}`,
  'a long text': text('a'),
  'a text of separators': text('-a'),
  'a text of separators at its end': JSON.stringify(`${'a-'.repeat(megabyte / 2)}\u0000`),
  'a text of digits': text('2026-11-15T'),
  'a text of control characters': text('\u0001'),
  'a text of pairs': text('\u{1f30a}'),
  'nested lists': list(() => `${'['.repeat(90)}${']'.repeat(90)}`),
}

/** Schema keywords that are only for readers. A property may have such a name, but its value is then an object. */
const annotations = new Set(['description', 'title', 'examples', 'default'])
const isSchema = (part: unknown): boolean => typeof part === 'object' && part !== null && !Array.isArray(part)

/** Returns the minimum of up to three tries, because garbage collection of earlier work is not part of the cost. */
function cpuMsOf(work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 3 && least >= cpuMsMax / 2; tries++) {
    const start = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(start)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

test('a megabyte of anything is parsed in little time', () => {
  for (const [name, json] of Object.entries(hostile)) {
    const took = cpuMsOf(() => {
      if (exceededJsonLimit(json, jsonLimits) === null) JSON.parse(json)
    })
    assert.ok(took < 2 * cpuMsMax, `${name}: ${took} ms`)
  }
})

test('a megabyte of anything, at any position of any body, is checked and answered in little time', () => {
  assert.ok(bodies.size > 15, [...bodies.keys()].join())
  const parsed = Object.entries(hostile).map(([name, json]) => [name, JSON.parse(json) as unknown] as const)
  const seen = new Set<string>()
  for (const [operation, whole] of bodies) {
    const validate = validatorFor(whole, 'body')
    assert.ok(validate(sampleOf(whole)), `${operation}: ${messageOf(detailsOf(validate.errors))}`)
    for (const { path, schema, put } of positionsIn(whole)) {
      // Descriptions do not change the cost of a check, so schemas that differ only in them are tested once.
      const position = JSON.stringify(schema, (name, part) =>
        annotations.has(name) && !isSchema(part) ? undefined : part,
      )
      if (seen.has(position)) continue
      seen.add(position)
      for (const [name, value] of parsed) {
        const body = put(value)
        const took = cpuMsOf(() => {
          if (validate(body)) return
          const details = detailsOf(validate.errors)
          assert.ok(details.length >= 1 && details.length <= 20)
          assert.ok(messageOf(details).length < 2000)
        })
        assert.ok(took < cpuMsMax, `${operation} ${path}, ${name}: ${took} ms`)
      }
    }
  }
  assert.ok(seen.size > 80, `${seen.size} positions`)
})
