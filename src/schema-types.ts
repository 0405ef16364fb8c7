import type { Type as TypeBox } from 'typebox'

/**
 * The schemas of TypeBox that are used here, made as TypeBox makes them (`schema-types.test.ts` compares them). Its types are
 * taken from there; its code is of four hundred files, a tenth of what a server's start costs, for what are a few lines.
 */
type Used =
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'IsOptional'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'

interface Schema {
  readonly [keyword: string | symbol]: unknown
}

/** Neither shown in OpenAPI nor copied with what is. */
const optionalMark = '~optional'
const isOptional = (schema: Schema): boolean => Object.hasOwn(schema, optionalMark)
const ofType =
  (type: string) =>
  (options?: Schema): Schema => ({ type, ...options })

/** With its mark. */
function copyOf(schema: Schema): Schema {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as Schema
}

const builders = {
  Array: (items: Schema, options?: Schema): Schema => ({ type: 'array', items, ...options }),
  Boolean: ofType('boolean'),
  Enum: (values: readonly unknown[], options?: Schema): Schema => ({ enum: values, ...options }),
  Integer: ofType('integer'),
  IsOptional: isOptional,
  Literal: (value: unknown, options?: Schema): Schema => ({ type: typeof value, const: value, ...options }),
  Null: ofType('null'),
  Number: ofType('number'),
  Object: (properties: Readonly<Record<string, Schema>>, options?: Schema): Schema => {
    const required = Object.keys(properties).filter((name) => !isOptional(properties[name]!))
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options }
  },
  Optional: (schema: Schema): Schema => Object.defineProperty(copyOf(schema), optionalMark, { value: true }),
  Record: (key: Schema, value: Schema, options?: Schema): Schema => ({
    type: 'object',
    patternProperties: { [(key.pattern as string | undefined) ?? '^.*$']: value },
    ...options,
  }),
  String: ofType('string'),
  Union: (anyOf: readonly Schema[], options?: Schema): Schema => ({ anyOf, ...options }),
  Unknown: (options?: Schema): Schema => ({ ...options }),
  Unsafe: copyOf,
}

export const Type = builders as unknown as Pick<typeof TypeBox, Used>
