import { type TSchema, type TSchemaOptions, Type } from 'typebox'

/** Parts of schemas that need no validator, so that code that only declares a schema does not load one. */

/** A schema that OpenAPI lists under a name, which becomes the name of a type in generated clients. */
export const named = <T extends TSchema>(component: string, schema: T): T =>
  Object.assign(schema, { [componentName]: component })

export const componentName = 'x-component'

/** On a part that is checked later and alone: the schema under this name describes it to readers of OpenAPI. */
export const describedBy = 'x-described-by'

/**
 * One of some texts. It has a type, because without one a check for unique items would compare every item with every
 * other.
 */
export const choice = <Values extends string[]>(values: readonly [...Values], about: TSchemaOptions = {}) =>
  Type.Enum(values, { type: 'string', ...about })

/** On a list: repeated values count once. They are dropped before anything counts or reads the items. */
export const readOnce = 'x-read-once'

/**
 * A list of these values, each once unless `about` says otherwise. The type of the values has a name, because
 * openapi-generator writes wrong Java for a list of an unnamed one.
 */
export const choices = <Values extends string[]>(
  component: string,
  values: readonly [...Values],
  description: string,
  about: TSchemaOptions = { uniqueItems: true },
) => Type.Array(named(component, choice(values)), { minItems: 1, maxItems: values.length, description, ...about })
