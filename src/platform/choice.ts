import { type TSchema, type TSchemaOptions, Type } from 'typebox'

/** Schemas for code that declares schemas but must not load the validator. */

/** A schema that OpenAPI lists under a name, which becomes the name of a type in generated clients. */
export const named = <T extends TSchema>(component: string, schema: T): T =>
  Object.assign(schema, { [componentName]: component })

export const componentName = 'x-component'

/** Set on a part that is validated later and separately. Its value is the schema that OpenAPI shows. */
export const describedBy = 'x-described-by'

/**
 * A schema for one of some texts. It has a type, because without one a check for unique items would compare every item
 * with every other.
 */
export const choice = <Values extends string[]>(values: readonly [...Values], about: TSchemaOptions = {}) =>
  Type.Enum(values, { type: 'string', ...about })

/** Set on a list: duplicates are removed before the items are counted or read. */
export const readOnce = 'x-read-once'

/**
 * A schema for a list of these values, without duplicates unless `about` says otherwise. The type of the values has a
 * name, because openapi-generator writes wrong Java for a list of an unnamed type.
 */
export const choices = <Values extends string[]>(
  component: string,
  values: readonly [...Values],
  description: string,
  about: TSchemaOptions = { uniqueItems: true },
) => Type.Array(named(component, choice(values)), { minItems: 1, maxItems: values.length, description, ...about })
