/**
 * Turns an OpenAPI description into the model that the page uses: operations in groups, references resolved, schemas
 * normalised.
 */

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

/** The parts of an OpenAPI document that the page reads. */
export interface Description {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly security?: readonly Security[]
  readonly paths?: Readonly<Record<string, PathItem>>
  readonly components?: {
    readonly schemas?: Readonly<Record<string, Schema>>
    readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>
  }
  readonly 'x-errors'?: readonly DescribedError[]
}

/** An error code: its status, whether the same request may succeed later, and the remedy. */
export interface DescribedError {
  readonly code: string
  readonly status: number
  readonly retryable: boolean
  readonly remedy: string
}

interface SecurityScheme {
  readonly description?: string
  readonly bearerFormat?: string
}

type Security = Readonly<Record<string, readonly string[]>>

type PathItem = { readonly parameters?: readonly Parameter[] } & {
  readonly [Method in (typeof methods)[number]]?: DescribedOperation
}

interface DescribedOperation {
  readonly operationId?: string
  readonly summary?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly tags?: readonly string[]
  readonly security?: readonly Security[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  readonly responses?: Readonly<Record<string, Body>>
}

interface Reference {
  readonly $ref?: string
}

export interface Parameter extends Reference {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly example?: unknown
  readonly schema?: Schema
}

/** A request body or a response. */
export interface Body extends Reference {
  readonly description?: string
  readonly content?: Readonly<Record<string, Media>>
}

interface Media {
  readonly schema?: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>
}

export interface TypedMedia extends Media {
  readonly type: string
}

/** A JSON Schema, with the fields that `plain` adds. */
export interface Schema extends Reference {
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly example?: unknown
  readonly examples?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly exclusiveMaximum?: number
  readonly multipleOf?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly pattern?: string
}

/** A normalised schema: one type, or `variants`. */
export interface PlainSchema extends Omit<Schema, 'type'> {
  readonly type?: string
  /** The name of the component that was referenced. */
  readonly name?: string
  readonly nullable?: boolean
  readonly variants?: readonly PlainSchema[]
}

export interface Operation extends Omit<DescribedOperation, 'parameters'> {
  readonly id: string
  readonly title: string
  readonly method: string
  readonly path: string
  readonly tag: string
  readonly parameters: readonly Parameter[]
  /** The required credential; null for none. */
  readonly scheme: string | null
}

export interface Group {
  readonly name: string
  readonly description: string
  readonly operations: readonly Operation[]
}

export interface Model {
  readonly description: Description
  readonly groups: readonly Group[]
  readonly operations: readonly Operation[]
  readonly schemes: Readonly<Record<string, SecurityScheme>>
}

export function readModel(description: Description): Model {
  const operations: Operation[] = []
  for (const [path, item] of Object.entries(description.paths ?? {})) {
    for (const method of methods) {
      const operation = item[method]
      if (!operation) continue
      operations.push({
        ...operation,
        id: operation.operationId ?? `${method}-${path}`,
        title: operation.summary ?? operation.operationId ?? path,
        method,
        path,
        tag: operation.tags?.[0] ?? 'Other',
        parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((one) =>
          follow(description, one),
        ),
        scheme: schemeOf(operation, description),
      })
    }
  }
  const named = (description.tags ?? []).map(({ name }) => name)
  const names = [...new Set([...named, ...operations.map(({ tag }) => tag)])]
  const groups = names
    .map((name) => ({
      name,
      description: description.tags?.find((tag) => tag.name === name)?.description ?? '',
      operations: operations.filter(({ tag }) => tag === name),
    }))
    .filter((group) => group.operations.length > 0)
  return { description, groups, operations, schemes: description.components?.securitySchemes ?? {} }
}

/** Returns the name of the first security scheme; null if no credential is needed. */
function schemeOf(operation: DescribedOperation, description: Description): string | null {
  const security = operation.security ?? description.security ?? []
  return Object.keys(security[0] ?? {})[0] ?? null
}

/** Resolves `$ref` within the document. Fields beside it, such as a description, override those of the target. */
export function follow<Value extends Reference>(description: Description, value: Value): Value {
  let current: Value = value
  const seen = new Set<string>()
  while (current.$ref !== undefined && !seen.has(current.$ref)) {
    const { $ref, ...beside } = current
    seen.add($ref)
    const target = at(description, $ref)
    current = { name: $ref.split('/').at(-1), ...(target as object | undefined), ...beside } as unknown as Value
    if (target === undefined) break
  }
  return current
}

function at(description: Description, reference: string): unknown {
  let node: unknown = description
  for (const part of reference.replace(/^#\//, '').split('/')) {
    if (typeof node !== 'object' || node === null) return undefined
    node = (node as Record<string, unknown>)[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return node
}

/**
 * Normalises equivalent schemas: `anyOf` of constants becomes an enum, `anyOf` with null (or a list of types with null)
 * becomes nullable, and a union with one member left becomes that member.
 */
export function plain(description: Description, schema: Schema | PlainSchema | undefined): PlainSchema {
  const known: Schema = follow(description, schema ?? {})
  const { type, ...rest } = known
  if (Array.isArray(type)) {
    const types = type.filter((one) => one !== 'null')
    const nullable = types.length < type.length
    if (types.length === 1) return { ...rest, type: types[0], nullable }
    return { ...rest, nullable, variants: types.map((one) => ({ type: one })) }
  }
  // Here there is at most one type.
  const single = known as PlainSchema
  if (known.allOf !== undefined && known.allOf.length > 0) return merge(description, single, known.allOf)
  const union = known.anyOf ?? known.oneOf
  if (union === undefined) return single
  const { anyOf: _a, oneOf: _o, ...beside } = single
  const members = union.map((member) => plain(description, member))
  const nullable = members.some(isNull) || members.some((member) => member.nullable)
  const others = members.filter((member) => !isNull(member))
  const constants = others.flatMap(constantsOf)
  if (others.every((member) => constantsOf(member).length > 0)) {
    const of = beside.type ?? others[0]?.type
    return { ...beside, ...(of === undefined ? {} : { type: of }), enum: constants, nullable }
  }
  if (others.length === 1) return { ...others[0], ...beside, nullable }
  return { ...beside, variants: others, nullable }
}

function merge(description: Description, schema: PlainSchema, allOf: readonly Schema[]): PlainSchema {
  const { allOf: _, ...rest } = schema
  const parts: PlainSchema[] = [...allOf.map((part) => plain(description, part)), rest]
  return Object.assign({}, ...parts, {
    properties: Object.assign({}, ...parts.map((part) => part.properties ?? {})),
    required: [...new Set(parts.flatMap((part) => part.required ?? []))],
  })
}

const isNull = (schema: PlainSchema): boolean => schema.type === 'null' || schema.const === null
const constantsOf = (schema: PlainSchema): readonly unknown[] =>
  schema.const !== undefined ? [schema.const] : (schema.enum ?? [])

/** Returns the media types of a request body or a response with their schemas, plain JSON first. */
export function contentOf(description: Description, holder: Body | undefined): readonly TypedMedia[] {
  const content = follow(description, holder ?? {}).content ?? {}
  const rank = (type: string): number => (type === 'application/json' ? 0 : 1)
  const types = Object.keys(content).sort((a, b) => rank(a) - rank(b))
  return types.map((type) => ({ type, ...content[type] }))
}
