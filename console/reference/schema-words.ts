import { type Description, type PlainSchema, plain, type Schema } from './openapi-model.ts'

/** Returns a schema's type in a few words: `string`, `array of integer`, `Error or null`. */
export function typeWords(description: Description, schema: Schema | PlainSchema | undefined, depth = 0): string {
  const known = plain(description, schema)
  const base = baseWords(description, known, depth)
  return known.nullable ? `${base} or null` : base
}

function baseWords(description: Description, known: PlainSchema, depth: number): string {
  if (known.variants) {
    const words = known.variants.map((variant) => typeWords(description, variant, depth + 1))
    return [...new Set(words)].join(' or ')
  }
  if (known.type === 'array') {
    return depth > 3 ? 'array' : `array of ${typeWords(description, known.items ?? {}, depth + 1)}`
  }
  if (known.enum || known.const !== undefined) {
    const value = known.enum?.[0] ?? known.const
    return known.type ?? (value === undefined ? 'any' : typeof value)
  }
  if (known.type === 'object' || known.properties || known.additionalProperties) {
    const values = mapValues(known)
    if (values) return Object.keys(values).length > 0 ? `map of ${typeWords(description, values, depth + 1)}` : 'object'
    return known.name ?? 'object'
  }
  if (known.format === 'binary') return 'file'
  if (known.type === 'string' && known.format) return `string (${known.format})`
  return known.type ?? 'any'
}

/**
 * Returns the schema of the values of a map, an object with arbitrary names; null for other schemas. TypeBox writes a
 * map as a pattern for all names.
 */
export function mapValues(known: PlainSchema): Schema | null {
  if (known.properties && Object.keys(known.properties).length > 0) return null
  const [pattern] = Object.values(known.patternProperties ?? {})
  if (pattern !== undefined) return pattern
  const { additionalProperties } = known
  return additionalProperties && typeof additionalProperties === 'object' ? additionalProperties : null
}

/** Returns the limits in words, each short enough for a chip. */
export function limitWords(description: Description, schema: Schema | PlainSchema): readonly string[] {
  const known = plain(description, schema)
  const words = [
    range(known.minLength, known.maxLength, 'character', 'characters'),
    range(known.minItems, known.maxItems, 'item', 'items'),
    range(known.minProperties, known.maxProperties, 'field', 'fields'),
    numbers(known),
    known.multipleOf === undefined ? null : `multiple of ${known.multipleOf}`,
    known.uniqueItems ? 'no repeats' : null,
    known.pattern ? patternWords(known.pattern) : null,
    known.default === undefined ? null : `default ${JSON.stringify(known.default)}`,
  ]
  return words.filter((word) => word !== null)
}

/**
 * Puts a pattern that only excludes characters in words. A list of choices becomes their number, because the
 * description explains them. Any other pattern is shown as it is.
 */
function patternWords(pattern: string): string {
  const [, choice] = /^\^\(([\w|-]+)\)\$$/.exec(pattern) ?? []
  if (choice !== undefined) return `one of ${choice.split('|').length}`
  const [, excluded] = /^\^\[\^(.*)\](?:\*|\{\d+,\d+\})\$$/.exec(pattern) ?? []
  if (excluded === undefined) return `pattern ${pattern}`
  const words = [
    excluded.includes(',') ? 'commas' : null,
    excluded.includes('\\s') ? 'spaces' : null,
    excluded.includes('\\x1f') ? 'control characters' : 'NUL',
  ]
  return `no ${words.filter((word) => word !== null).join(', ')}`
}

function range(from: number | undefined, to: number | undefined, one: string, many: string): string | null {
  if (from === undefined && to === undefined) return null
  const unit = (n: number): string => (n === 1 ? one : many)
  if (from === undefined || from === 0) return to === undefined ? null : `up to ${show(to)} ${unit(to)}`
  if (to === undefined) return `at least ${show(from)} ${unit(from)}`
  return from === to ? `${show(from)} ${unit(to)}` : `${show(from)} to ${show(to)} ${unit(to)}`
}

function numbers({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: PlainSchema): string | null {
  const low = minimum ?? exclusiveMinimum
  const high = maximum ?? exclusiveMaximum
  const lowWords = minimum === undefined ? `more than ${show(exclusiveMinimum)}` : `at least ${show(minimum)}`
  const highWords = maximum === undefined ? `less than ${show(exclusiveMaximum)}` : `at most ${show(maximum)}`
  if (low === undefined && high === undefined) return null
  if (low === undefined) return highWords
  if (high === undefined) return lowWords
  if (minimum !== undefined && maximum !== undefined) return `${show(minimum)} to ${show(maximum)}`
  return `${lowWords}, ${highWords}`
}

const show = (n: number | undefined): string => n?.toLocaleString('en') ?? ''
