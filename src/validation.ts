import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { SchemaValidateFunction } from 'ajv/dist/types/index.js'
import type { ErrorDetail } from './errors.ts'
import { parseTime } from './time.ts'

/**
 * Two validators from the same schemas: bodies are taken as they are; query strings and path parameters, which are all
 * text, may become numbers and booleans. Unknown fields are refused by the schemas (`additionalProperties: false`).
 */
const options = { allErrors: true, useDefaults: true, removeAdditional: false, strict: false } as const

/** `verbose` only where values are short: it keeps the value at fault, by which a repeated parameter is told. */
function make(coerceTypes: boolean): Ajv2020 {
  const ajv = new Ajv2020({ ...options, coerceTypes, verbose: coerceTypes })
  ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTime(text) !== null })
  ajv.addKeyword({ keyword: laterThan, type: 'string', schemaType: 'string', validate: isLater })
  ajv.addFormat('date', { type: 'string', validate: (text: string) => parseTime(`${text}T00:00:00Z`) !== null })
  return ajv
}

/** On a time: the name of the field beside it that must be an earlier one, where it is there. */
export const laterThan = 'x-later-than'

const isLater: SchemaValidateFunction = (other: string, text: string, _, context) => {
  const beside = context?.parentData[other]
  const [earlier, later] = [typeof beside === 'string' ? parseTime(beside) : null, parseTime(text)]
  isLater.errors = [{ keyword: laterThan, params: { other } }]
  // What is not a time at all is refused by its format.
  return earlier === null || later === null || later > earlier
}

const asTheyAre = make(false)
const fromText = make(true)

export function validatorFor(schema: object, part: string | undefined): ValidateFunction {
  return part === 'querystring' || part === 'params' ? fromTextOnly(schema) : asTheyAre.compile(schema)
}

/** Digits alone are a whole number; Ajv would also take 0x10, 1e1 and 1.0 for one. */
const wholeNumber = /^-?\d+$/

function fromTextOnly(schema: object): ValidateFunction {
  const validate = fromText.compile(schema)
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> }
  const integers = Object.keys(properties).filter((name) => properties[name]!.type === 'integer')
  const checked = (data: Record<string, unknown>): boolean => {
    for (const name of integers) {
      const text = data[name]
      // As a text that is no number in anybody's eyes, it is refused with the words for a wrong type.
      if (typeof text === 'string' && !wholeNumber.test(text)) data[name] = 'NaN'
    }
    const valid = validate(data)
    checked.errors = validate.errors
    return valid
  }
  checked.errors = validate.errors
  return checked as ValidateFunction
}

/** The pattern of texts that stand in lists, logs and terminals, and that every store can hold. */
export const printable = '^[^\\u0000-\\u001f\\u007f]*$'

/** At most this many faults are listed; a body of garbage need not be answered with a book. */
const detailsMax = 20

/** Ajv's errors as sentences about fields: what the path is and what it should be. */
export function detailsOf(errors: readonly ErrorObject[]): readonly ErrorDetail[] {
  const details: ErrorDetail[] = []
  for (const error of errors) {
    // A failed branch of a union is reported by its branches too; the union itself adds nothing.
    if (error.keyword === 'if' || (error.keyword === 'anyOf' && errors.length > 1 && !onlyConstants(error))) continue
    // "or null" is one branch of a union; the other branches say what the value should have been.
    if (
      isNullBranch(error) &&
      errors.some(
        (other) =>
          (other.instancePath === error.instancePath || other.instancePath.startsWith(`${error.instancePath}/`)) &&
          !isNullBranch(other) &&
          other.keyword !== 'anyOf',
      )
    )
      continue
    const detail = detailOf(error)
    if (!details.some((one) => one.path === detail.path && one.message === detail.message)) details.push(detail)
    if (details.length === detailsMax) break
  }
  return details
}

const isNullBranch = (error: ErrorObject): boolean => error.keyword === 'type' && error.params.type === 'null'

function onlyConstants(error: ErrorObject): boolean {
  return (
    Array.isArray(error.schema) &&
    error.schema.every((one) => typeof one === 'object' && one !== null && 'const' in one)
  )
}

function detailOf(error: ErrorObject): ErrorDetail {
  const path = shortened(error.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~'))
  const below = (name: string) => shortened(path === '' ? name : `${path}.${name}`)
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'additionalProperties':
      return { path: below(String(params.additionalProperty)), message: 'is not known here' }
    case 'required':
      return { path: below(String(params.missingProperty)), message: 'is required' }
    case 'enum':
      return { path, message: `must be one of ${(params.allowedValues as unknown[]).map(String).join(', ')}` }
    case 'const':
      return { path, message: `must be ${JSON.stringify(params.allowedValue)}` }
    case 'format':
      return { path, message: `must be ${formats[String(params.format)] ?? 'of the right form'}` }
    case laterThan:
      return { path, message: `must be later than ${params.other}` }
    case 'pattern':
      if (params.pattern === printable) return { path, message: 'must not contain control characters' }
      return { path, message: `must match the pattern ${params.pattern}` }
    case 'type':
      if (Array.isArray(error.data) && params.type !== 'array') return { path, message: 'must be given only once' }
      return { path, message: `must be ${wordFor(String(params.type))}` }
    default:
      return { path, message: error.message ?? 'is not valid' }
  }
}

/** A name that the caller made up may be as long as its whole request. */
const shortened = (path: string): string => (path.length > 200 ? `${path.slice(0, 200)}…` : path)

const formats: Record<string, string> = {
  'date-time': 'an RFC 3339 time such as 2026-11-15T08:30:00Z',
  date: 'a calendar day such as 2026-11-15',
}

const words: Record<string, string> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'a text (one value)',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}
const wordFor = (type: string): string =>
  type
    .split(',')
    .map((one) => words[one] ?? one)
    .join(' or ')

/** The sentence of the whole answer: the first faults, by name. */
export function messageOf(details: readonly ErrorDetail[]): string {
  if (details.length === 0) return 'the request is not valid'
  const shown = details
    .slice(0, 3)
    .map(({ path, message }) => (path === '' ? `the body ${message}` : `${path} ${message}`))
  const more = details.length > 3 ? `, and ${details.length - 3} more` : ''
  return shown.join('; ') + more
}
