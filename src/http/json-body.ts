import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { TidemarkError } from '../errors.ts'
import { jsonLimits, passedJsonLimit, placeOfFault } from '../json-text.ts'

const passed = {
  levels: `is nested deeper than ${jsonLimits.levels} levels`,
  values: `has more than ${jsonLimits.values} values: send less at once`,
} as const

/** The value of a JSON body, or the area's 400 with what is wrong. An empty body is no value. */
export function parseJsonBody(request: FastifyRequest, body: Buffer): unknown {
  if (body.length === 0) return undefined
  const refused = (what: string, cause?: unknown) =>
    new TidemarkError(request.routeOptions.config.invalid ?? 'invalid_request', `the body ${what}`, { cause })
  // Decoding would put U+FFFD in place of wrong bytes, and nobody would ever hear of it.
  if (!isUtf8(body)) throw refused('is not valid UTF-8')
  const text = body.toString('utf8')
  const limit = passedJsonLimit(text, jsonLimits)
  if (limit !== null) throw refused(passed[limit])
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused(`is not valid JSON${placeOfFault(error)}`, error)
  }
}
