/**
 * The description as the page uses it: operations in groups, references followed, schemas brought into one form.
 */

const methods = ['get', 'post', 'put', 'patch', 'delete']

export function readModel(description) {
  const operations = []
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

/** The name of the first security scheme, or null where no credential is needed. */
function schemeOf(operation, description) {
  const security = operation.security ?? description.security ?? []
  return Object.keys(security[0] ?? {})[0] ?? null
}

/** Follows `$ref` inside the document. What beside it stands (a description, say) wins over what it points to. */
export function follow(description, value) {
  let current = value
  const seen = new Set()
  while (current?.$ref !== undefined && !seen.has(current.$ref)) {
    const { $ref, ...beside } = current
    seen.add($ref)
    const target = $ref
      .replace(/^#\//, '')
      .split('/')
      .reduce((node, part) => node?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], description)
    current = { name: $ref.split('/').at(-1), ...target, ...beside }
    if (target === undefined) break
  }
  return current
}

/**
 * One form for the ways of saying the same: `anyOf` of constants is an enum, `anyOf` with null (or a list of types
 * with it) is nullable, a union with one member left is that member.
 */
export function plain(description, schema) {
  const known = follow(description, schema ?? {}) ?? {}
  if (Array.isArray(known.type)) {
    const types = known.type.filter((type) => type !== 'null')
    const { type: _, ...rest } = known
    const nullable = types.length < known.type.length
    if (types.length === 1) return { ...rest, type: types[0], nullable }
    return { ...rest, nullable, variants: types.map((type) => ({ type })) }
  }
  if (known.allOf?.length > 0) return merge(description, known)
  const union = known.anyOf ?? known.oneOf
  if (union === undefined) return known
  const { anyOf: _a, oneOf: _o, ...rest } = known
  const members = union.map((member) => plain(description, member))
  const nullable = members.some(isNull) || members.some((member) => member.nullable)
  const others = members.filter((member) => !isNull(member))
  const constants = others.flatMap(constantsOf)
  if (others.every((member) => constantsOf(member).length > 0)) {
    return { ...rest, type: rest.type ?? others[0]?.type, enum: constants, nullable }
  }
  if (others.length === 1) return { ...others[0], ...rest, nullable }
  return { ...rest, variants: others, nullable }
}

function merge(description, schema) {
  const { allOf, ...rest } = schema
  const parts = [...allOf.map((part) => plain(description, part)), rest]
  return Object.assign({}, ...parts, {
    properties: Object.assign({}, ...parts.map((part) => part.properties ?? {})),
    required: [...new Set(parts.flatMap((part) => part.required ?? []))],
  })
}

const isNull = (schema) => schema.type === 'null' || schema.const === null
const constantsOf = (schema) => (schema.const !== undefined ? [schema.const] : (schema.enum ?? []))

/** The media types of a body or an answer with their schemas, plain JSON first. */
export function contentOf(description, holder) {
  const content = follow(description, holder)?.content ?? {}
  const rank = (type) => (type === 'application/json' ? 0 : 1)
  const types = Object.keys(content).sort((a, b) => rank(a) - rank(b))
  return types.map((type) => ({ type, ...content[type] }))
}
