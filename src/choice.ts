import type { TSchema, TSchemaOptions } from 'typebox'
import { Type } from './schema-types.ts'

/** Parts of schemas that need no validator: what only says a schema does not load one. */

/** A schema that OpenAPI lists under a name, which is then that of a type in generated clients. */
export const named = <T extends TSchema>(component: string, schema: T): T =>
  Object.assign(schema, { [componentName]: component })

export const componentName = 'x-component'

/** One of some texts. With its type, or comparing the items of a list would be comparing everything with everything. */
export const choice = <Values extends string[]>(values: readonly [...Values], about: TSchemaOptions = {}) =>
  Type.Enum(values, { type: 'string', ...about })

/** Some of them, each once. The values have a name: of a list of nameless ones openapi-generator makes Java that is wrong. */
export const choices = <Values extends string[]>(
  component: string,
  values: readonly [...Values],
  description: string,
  itemsMax: number = values.length,
) => Type.Array(named(component, choice(values)), { minItems: 1, maxItems: itemsMax, uniqueItems: true, description })
