import SerializerSelector from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>

/**
 * Compiles the serialiser of an answer when the first such answer is sent. Most are never used in a process, and
 * compiling is slow.
 */
export const compileLater: Compilers = {
  buildSerializer(shared, ...given) {
    const compile = SerializerSelector()(forSerialiser(shared), ...given)
    return (route) => {
      let write: ReturnType<typeof compile> | null = null
      return (data) => {
        write ??= compile({ ...route, schema: forSerialiser(route.schema) })
        return write(data)
      }
    }
  },
}

interface Schema {
  readonly type?: unknown
  readonly enum?: unknown
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

/** The pattern that TypeBox uses for a record with any names. */
const anyName = '^.*$'

/**
 * Rewrites a schema for the serialiser.
 *
 * A schema of a value or null becomes one schema with two types. For `anyOf` the serialiser would ask a validator which
 * alternative each value is, formats of times included, which takes several times as long as writing the value. An enum
 * or null stays as it is, because null is not in the enum.
 *
 * A record with any names becomes additional properties. Its pattern does not match a name with a line break, and the
 * serialiser drops properties that do not match.
 */
function forSerialiser<T>(schema: T): T {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(forSerialiser) as T
  const parts = Object.entries(schema).map(([name, part]) => [name, forSerialiser(part)])
  const { patternProperties, ...others } = Object.fromEntries(parts) as Schema
  const record = patternProperties?.[anyName]
  if (record !== undefined) return { ...others, additionalProperties: record } as T
  const { anyOf, ...rest } = Object.fromEntries(parts) as Schema
  const [one, other] = anyOf ?? []
  const isOpen = typeof one?.type === 'string' && one.enum === undefined && one.const === undefined
  const isEither = anyOf?.length === 2 && isOpen && other?.type === 'null'
  return (isEither ? { ...rest, ...one, type: [one.type, 'null'] } : Object.fromEntries(parts)) as T
}
