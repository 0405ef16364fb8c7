import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { SchemaValidateFunction } from 'ajv/dist/types/index.js'
import { type TSchema, type TSchemaOptions, Type } from 'typebox'
import { absentNulls } from './absent-nulls.ts'
import { unboundedPartsOf } from './bounded-schema.ts'
import { readOnce } from './choice.ts'
import type { ErrorDetail } from './errors.ts'
import { languageCodes } from './language-codes.ts'
import { nearestName } from './nearest-name.ts'
import { quoted, shortened, shownCharactersMax } from './quoted.ts'
import { isWrongInterval, parseTime } from './time.ts'

export { choice, choices, componentName, describedBy, named, readOnce } from './choice.ts'

/**
 * Values in bodies are not converted. Those in query strings and path parameters, which are all text, may become
 * numbers and booleans. The schemas refuse unknown fields (`additionalProperties: false`).
 *
 * Each schema is compiled twice. The first validator stops at the first fault and decides alone, so the schema's own
 * limits bound its cost for any input. The second finds every fault for the response. It runs only for refused values
 * that are small.
 */
const options = { useDefaults: true, removeAdditional: false, strict: false } as const

/** A refused value with more nested values than this is described only by its first fault. */
const describedValuesMax = 10_000

/** `verbose` keeps the faulty value, which shows a repeated parameter. It is used only for texts, which are short. */
function make(coerceTypes: boolean, allErrors: boolean): Ajv2020 {
  const ajv = new Ajv2020({ ...options, coerceTypes, allErrors, verbose: coerceTypes })
  ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTime(text) !== null })
  ajv.addKeyword({ keyword: laterThan, type: 'string', schemaType: 'string', validate: isLater })
  ajv.addKeyword({ keyword: exactWithin, type: 'object', schemaType: 'boolean', validate: isExactWithin })
  ajv.addKeyword({ keyword: readOnce, type: 'array', schemaType: 'boolean', before: 'maxItems', validate: dropRepeats })
  ajv.addFormat('date', { type: 'string', validate: (text: string) => parseTime(`${text}T00:00:00Z`) !== null })
  return ajv
}

/** Set on a time. Names the sibling field that must be an earlier time, if it is present. */
export const laterThan = 'x-later-than'

const isLater: SchemaValidateFunction = (other: string, text: string, _, context) => {
  const sibling = context?.parentData?.[other]
  isLater.errors = [{ keyword: laterThan, params: { other } }]
  // A text that is not a time is refused by its format.
  return typeof sibling !== 'string' || !isWrongInterval(sibling, text)
}

/** Set on an object of any content. Every text and name in it can be stored and returned exactly. */
export const exactWithin = 'x-exact-within'

const isExactWithin: SchemaValidateFunction = (_: boolean, object: object) => {
  isExactWithin.errors = [{ keyword: exactWithin, params: {} }]
  const found: unknown[] = [object]
  // The loop also visits the values that it appends.
  for (const one of found) {
    if (typeof one === 'string' && !isExact(one)) return false
    if (typeof one !== 'object' || one === null) continue
    for (const [name, value] of Object.entries(one)) {
      if (!isExact(name)) return false
      found.push(value)
    }
  }
  return true
}

/** Longer lists are not deduplicated. Every `maxItems` is smaller, so they are refused. */
const readOnceMax = 10_000

const dropRepeats: SchemaValidateFunction = (_: boolean, list: unknown[]) => {
  if (list.length > readOnceMax) return true
  const once = [...new Set(list)]
  list.splice(0, list.length, ...once)
  return true
}

const unconverted = { firstFault: make(false, false), everyFault: make(false, true) }
const fromText = { firstFault: make(true, false), everyFault: make(true, true) }

export interface Validator {
  (value: unknown): boolean
  errors: ErrorObject[]
}

interface ValidatorOptions {
  /** Null for an optional field of an object counts as absent and is removed. */
  readonly nullIsAbsent?: boolean
}

/** Throws for a schema without limits (`unboundedPartsOf`). */
export function validatorFor(
  schema: object,
  part: string | undefined,
  { nullIsAbsent = false }: ValidatorOptions = {},
): Validator {
  const unbounded = unboundedPartsOf(schema, part)
  if (unbounded.length > 0) throw new Error(`a schema has no bounds: ${unbounded.join('; ')}`)
  const isText = part === 'querystring' || part === 'params'
  const kind = isText ? fromText : unconverted
  let prepare = isText ? markWrongIntegers(schema) : null
  // Compiled on first use, because compiling is slow and a process never uses most validators.
  let decide: ValidateFunction | null = null
  let describe: ValidateFunction | null = null
  const validate = (value: unknown): boolean => {
    if (nullIsAbsent) prepare ??= absentNulls(schema)
    prepare?.(value as Record<string, unknown>)
    decide ??= kind.firstFault.compile(schema)
    if (decide(value)) return true
    validate.errors = withContext(decide.errors ?? [], value, schema)
    if (holdsMoreThan(describedValuesMax, value)) return false
    describe ??= kind.everyFault.compile(schema)
    if (!describe(value)) validate.errors = withContext(describe.errors ?? [], value, schema)
    return false
  }
  validate.errors = [] as ErrorObject[]
  return validate
}

/**
 * Adds the sent value to each error about a language, because it is hard to find in a long list. Adds the names of the
 * known fields to the error about an unknown field.
 */
function withContext(errors: ErrorObject[], value: unknown, schema: object): ErrorObject[] {
  const at = (whole: unknown, names: readonly string[]): unknown =>
    names.reduce<unknown>((one, name) => (one as Record<string, unknown> | undefined)?.[name], whole)
  return errors.slice(0, errorsMax).map((error) => {
    if (error.params.pattern === languagePattern) {
      return { ...error, data: at(value, error.instancePath.split('/').slice(1)) }
    }
    if (error.keyword !== 'additionalProperties') return error
    const { properties } = (at(schema, error.schemaPath.split('/').slice(1, -1)) ?? {}) as { properties?: object }
    return { ...error, data: Object.keys(properties ?? {}) }
  })
}

/** Whether a value has more nested values than `most`. */
function holdsMoreThan(most: number, value: unknown): boolean {
  const found = [value]
  // The loop also visits the values that it appends.
  for (const one of found) {
    if (typeof one !== 'object' || one === null) continue
    if (Array.isArray(one)) {
      if (found.length + one.length > most) return true
      found.push(...one)
    } else {
      for (const name in one) if (found.push((one as Record<string, unknown>)[name]) > most) return true
    }
  }
  return false
}

/** A whole number has only digits. Ajv would also accept 0x10, 1e1 and 1.0. */
const wholeNumber = /^-?\d+$/

/** Replaces a wrong number by a text that Ajv cannot read as one, so that it is refused as a wrong type. */
function markWrongIntegers(schema: object): (data: Record<string, unknown>) => void {
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> }
  const integers = Object.keys(properties).filter((name) => properties[name]!.type === 'integer')
  return (data) => {
    for (const name of integers) {
      const text = data[name]
      if (typeof text === 'string' && !wholeNumber.test(text)) data[name] = 'NaN'
    }
  }
}

/** For an object that allows only its named fields. */
export const strict = { additionalProperties: false } as const

/** For a query string or a body without fields. */
export const noFields = Type.Object({}, strict)

export const orNull = <T extends TSchema>(schema: T, about: TSchemaOptions = {}) =>
  Type.Union([schema, Type.Null()], about)

export const dateTime = Type.String({ format: 'date-time' })

/** An ID that is only looked up, so any form is accepted. */
export const idOf = (what: string) =>
  Type.String({ minLength: 1, maxLength: 128, description: `The ID of the ${what}.` })

/** The number of items on a page of a list. */
export const pageSize = (most: number, fallback: number) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: most,
      default: fallback,
      description: 'The maximum number of items per page.',
    }),
  )

/** Unpaired surrogates, for patterns with the flag u, in which a surrogate pair is one character. */
export const surrogates = '\\ud800-\\udfff'
/**
 * Characters that some stores cannot hold: NUL, and unpaired surrogates, which JSON can write and UTF-8 cannot. They
 * are refused in IDs and in texts that are compared, because replacing them could make two IDs equal. NUL is written
 * \x00, because Go, the language of a generated client, does not accept \u0000.
 */
const unstorable = `\\x00${surrogates}`

/** The pattern of texts that are only compared. */
export const exactPattern = `^[^${unstorable}]*$`

export const isExact = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed()

/** The pattern of IDs and words that others choose. */
export const oneLinePattern = `^[^\\x01-\\x1f${unstorable}]*$`

/** The pattern of codes, which appear in comma-separated lists and in addresses. */
export const codePattern = `^[^,\\s\\x01-\\x1f${unstorable}]*$`

/** A link that a reader may follow: http or https, without spaces. */
export const webAddressPattern = `^[Hh][Tt][Tt][Pp][Ss]?://[^\\s\\x01-\\x1f\\x7f${unstorable}]+$`

/** The pattern of texts that appear in lists, logs and terminals. */
export const printablePattern = `^[^\\x01-\\x1f\\x7f${unstorable}]*$`

const unseen = '\\x7f-\\x9f\\xad\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff'
/**
 * The pattern of names that identify people: no control characters, no marks of direction, which make one name look
 * like another, and no other invisible characters. Only joiners, which some scripts need, may be within a name.
 */
export const personPattern = `^ *[^\\s\\x01-\\x1f\\u200c\\u200d${unseen}${unstorable}][^\\x01-\\x1f${unseen}${unstorable}]*$`

/** The pattern of languages in requests of readers. Documents have them in the same form. */
const languagePattern = `^(${languageCodes.join('|')})$`

/** The pattern of languages that collectors send. */
export const languageTagPattern = '^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*$'

/** The pattern of languages of documents: a few have no code of two letters. */
const storedLanguagePattern = '^[a-z]{2,3}$'

export const storedLanguage = Type.String({
  pattern: storedLanguagePattern,
  description: 'an ISO 639-1 language code, two lowercase letters',
})

/** The languages that a request names. */
export const Languages = Type.Array(Type.String({ pattern: languagePattern }), {
  minItems: 1,
  maxItems: 200,
  [readOnce]: true,
  description: 'ISO 639-1 codes, two lowercase letters each.',
})

/** Replaces characters that cannot be stored by U+FFFD, in texts that are read and not compared. */
export const storableText = (text: string): string => text.replaceAll('\u0000', '\ufffd').toWellFormed()

/** The largest number of faults that a response lists. */
const detailsMax = 20

/** The largest number of errors that are examined: several can be about one fault, and the work must be bounded. */
const errorsMax = 10 * detailsMax

/** Turns Ajv's errors into sentences about fields: each path, and the value that it should have. */
export function detailsOf(found: readonly ErrorObject[]): readonly ErrorDetail[] {
  const errors = withoutUnions(found.slice(0, errorsMax))
  const details: ErrorDetail[] = []
  for (const error of errors) {
    if (error.keyword === 'if') continue
    if (
      error.keyword === 'type' &&
      errors.some((other) => isChoice(other) && other.instancePath === error.instancePath)
    )
      continue
    const detail = detailOf(error)
    if (!details.some((one) => one.path === detail.path && one.message === detail.message)) details.push(detail)
    if (details.length === detailsMax) break
  }
  return details
}

/**
 * A value that matches no branch of a union has errors for each branch, which contradict each other. Keeps only the
 * errors of the branches that have its type, or replaces all by one error that lists the types. The branch "or null" is
 * mentioned only if nothing else is.
 */
function withoutUnions(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const instead = new Map<ErrorObject, ErrorObject | null>()
  for (const union of errors) {
    if (union.keyword !== 'anyOf') continue
    const branches = errors.filter(
      ({ schemaPath, instancePath }) =>
        schemaPath.startsWith(`${union.schemaPath}/`) && `${instancePath}/`.startsWith(`${union.instancePath}/`),
    )
    if (branches.length > 0) instead.set(union, null)
    const wrongTypes = branches.filter(
      ({ keyword, instancePath }) => keyword === 'type' && instancePath === union.instancePath,
    )
    for (const error of wrongTypes) instead.set(error, null)
    const [first] = wrongTypes
    if (first === undefined || wrongTypes.length < branches.length) continue
    const types = wrongTypes.map(({ params }) => String(params.type))
    const shown = types.filter((type) => type !== 'null')
    instead.set(first, { ...first, params: { type: (shown.length > 0 ? shown : types).join() } })
  }
  return errors.flatMap((error) => {
    const other = instead.get(error)
    return other === undefined ? error : (other ?? [])
  })
}

/** The error of an enum says more than the error of its type. */
const isChoice = (error: ErrorObject): boolean => error.keyword === 'enum'

function detailOf(error: ErrorObject): ErrorDetail {
  const path = pathOf(error.instancePath)
  const below = (name: string) => shortened(path === '' ? name : `${path}.${name}`)
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'additionalProperties':
      return { path: below(String(params.additionalProperty)), message: unknownFieldInWords(error) }
    case 'required':
      return { path: below(String(params.missingProperty)), message: 'is required' }
    case 'enum':
      return { path, message: `must be ${oneOf(params.allowedValues as unknown[])}` }
    case 'const':
      return { path, message: `must be ${JSON.stringify(params.allowedValue)}` }
    case 'format':
      if (spaceForPlus.test(String(error.data)))
        return { path, message: 'has a space instead of +: encode + as %2B in a URL' }
      return { path, message: `must be ${formats[String(params.format)] ?? 'in the right format'}` }
    case laterThan:
      return { path, message: `must be later than ${params.other}` }
    case exactWithin:
      return { path, message: patterns[exactPattern]! }
    case 'minItems':
    case 'minLength':
    case 'minProperties':
      return { path, message: params.limit === 1 ? 'must not be empty' : `must have at least ${counted(error)}` }
    case 'maxItems':
    case 'maxLength':
    case 'maxProperties':
      return { path, message: `must have at most ${counted(error)}` }
    case 'uniqueItems':
      return { path, message: 'must not contain duplicates' }
    case 'minimum':
      return { path, message: `must be at least ${params.limit}` }
    case 'maximum':
      return { path, message: `must be at most ${params.limit}` }
    case 'exclusiveMinimum':
      return { path, message: `must be more than ${params.limit}` }
    case 'exclusiveMaximum':
      return { path, message: `must be less than ${params.limit}` }
    case 'pattern':
      if (params.pattern === languagePattern)
        return { path, message: `${patterns[languagePattern]}, not ${quoted(String(error.data))}` }
      return { path, message: patterns[String(params.pattern)] ?? `must match the pattern ${params.pattern}` }
    case 'type':
      if (Array.isArray(error.data) && params.type !== 'array') return { path, message: 'must be given only once' }
      return { path, message: `must be ${wordFor(String(params.type))}` }
    default:
      return { path, message: error.message ?? 'is not valid' }
  }
}

const unknownField = 'unknown field'

function unknownFieldInWords({ params, data }: ErrorObject): string {
  const meant = nearestName(String(params.additionalProperty), data as readonly string[])
  return meant === null ? unknownField : `${unknownField}: did you mean "${meant}"?`
}

const oneOf = (values: readonly unknown[]): string =>
  values.length > 1 ? `one of ${values.join(', ')}` : `${values[0]}`

/** Returns for example "5 items". */
function counted({ keyword, params: { limit } }: ErrorObject): string {
  const unit = keyword.endsWith('Items') ? 'item' : keyword.endsWith('Length') ? 'character' : 'field'
  return `${limit} ${unit}${limit === 1 ? '' : 's'}`
}

/** Reads only as much of a JSON pointer as can be shown. Two of its characters may stand for one. */
const pathOf = (pointer: string): string =>
  shortened(
    pointer
      .slice(1, 2 * shownCharactersMax + 4)
      .replaceAll('/', '.')
      .replaceAll('~1', '/')
      .replaceAll('~0', '~'),
  )

/** A time whose offset has lost its + sign, because an unescaped + in a query string is a space. */
const spaceForPlus = /T[\d:.]+ \d\d:\d\d$/

const formats: Record<string, string> = {
  'date-time': 'an RFC 3339 time such as 2026-11-15T08:30:00Z',
  date: 'a calendar day such as 2026-11-15',
}

const patterns: Record<string, string> = {
  [exactPattern]: 'must not contain NUL or an unpaired surrogate',
  [oneLinePattern]: 'must not contain control characters or an unpaired surrogate',
  [codePattern]: 'must not contain commas, spaces, control characters or an unpaired surrogate',
  [webAddressPattern]: 'must be an address that begins with http:// or https://, without spaces',
  [printablePattern]: 'must not contain control characters or an unpaired surrogate',
  [personPattern]: 'must contain visible characters, and no control or text-direction characters',
  [languagePattern]: 'must be an ISO 639-1 code, two lowercase letters such as en',
  [languageTagPattern]: 'must be a language code such as en or en-GB',
  [storedLanguagePattern]:
    'must be a language code: two lowercase letters such as en, or three if there is no two-letter code',
}

const words: Record<string, string> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}
const wordFor = (type: string): string =>
  type
    .split(',')
    .map((one) => words[one] ?? one)
    .join(' or ')

function sentenceOf({ path, message }: ErrorDetail): string {
  if (message.startsWith(unknownField)) return `${unknownField} "${path}"${message.slice(unknownField.length)}`
  return path === '' ? `the body ${message}` : `${path} ${message}`
}

/** Returns the message of the error response: the first faults, with their fields. */
export function messageOf(details: readonly ErrorDetail[]): string {
  if (details.length === 0) return 'the request is not valid'
  const shown = details.slice(0, 3).map(sentenceOf)
  const more = details.length > 3 ? `, and ${details.length - 3} more` : ''
  return shown.join('; ') + more
}
