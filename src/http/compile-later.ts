import SerializerSelector from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>

/** What makes the JSON of an answer is compiled when the first of its kind goes out: most never do, and it takes long. */
export const compileLater: Compilers = {
  buildSerializer(shared, ...given) {
    const compile = SerializerSelector()(mayBeNull(shared), ...given)
    return (route) => {
      let write: ReturnType<typeof compile> | null = null
      return (data) => {
        write ??= compile({ ...route, schema: mayBeNull(route.schema) })
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
}

/**
 * Something or null, said as a type of two names: of `anyOf` the serialiser asks a validator for each value which of them
 * it is, formats of times included, which takes several times as long as to write it. One of some values, or null, stays
 * as it is: they say themselves what may be there, and null is none of them.
 */
function mayBeNull<T>(schema: T): T {
  if (typeof schema !== 'object' || schema === null) return schema
  if (Array.isArray(schema)) return schema.map(mayBeNull) as T
  const parts = Object.entries(schema).map(([name, part]) => [name, mayBeNull(part)])
  const { anyOf, ...rest } = Object.fromEntries(parts) as Schema
  const [one, other] = anyOf ?? []
  const isOpen = typeof one?.type === 'string' && one.enum === undefined && one.const === undefined
  const isEither = anyOf?.length === 2 && isOpen && other?.type === 'null'
  return (isEither ? { ...rest, ...one, type: [one.type, 'null'] } : Object.fromEntries(parts)) as T
}
