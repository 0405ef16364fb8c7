import SerializerSelector from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>

/** What makes the JSON of an answer is compiled when the first of its kind goes out: most never do, and it takes long. */
export const compileLater: Compilers = {
  buildSerializer(...given) {
    const compile = SerializerSelector()(...given)
    return (route) => {
      let write: ReturnType<typeof compile> | null = null
      return (data) => {
        write ??= compile(route)
        return write(data)
      }
    }
  },
}
