import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { TidemarkError } from '../errors.ts'

/** Deeper nesting is refused: it overflows the stack of whatever walks it later (validation, cloning, writing). */
const nestingMax = 100

/** The value of a JSON body, or the area's 400 with what is wrong. An empty body is no value. */
export function parseJsonBody(request: FastifyRequest, body: Buffer): unknown {
  if (body.length === 0) return undefined
  const refused = (what: string, cause?: unknown) =>
    new TidemarkError(request.routeOptions.config.invalid ?? 'invalid_request', `the body ${what}`, { cause })
  // Decoding would put U+FFFD in place of wrong bytes, and nobody would ever hear of it.
  if (!isUtf8(body)) throw refused('is not valid UTF-8')
  const text = body.toString('utf8')
  if (nestsDeeperThan(nestingMax, text)) throw refused(`is nested deeper than ${nestingMax} levels`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused('is not valid JSON', error)
  }
}

/** Looks at brackets outside of strings only; whether the text is JSON at all is for the parser to say. */
export function nestsDeeperThan(levels: number, text: string): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) {
      i = endOfString(text, i)
      if (i < 0) return false
    } else if (code === openBracket || code === openBrace) {
      if (++depth > levels) return true
    } else if (code === closeBracket || code === closeBrace) depth--
  }
  return false
}

const quote = 0x22
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const backslash = 0x5c

/** Where the string that opens at `start` closes; -1 where it does not. A quote after an odd number of backslashes is text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end
  }
  return -1
}
