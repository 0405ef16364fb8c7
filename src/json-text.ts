/**
 * What a JSON text may be before it is parsed. Nesting overflows the stack of whatever walks it later (validation,
 * cloning, writing); values cost: 20 million empty lists, 60 MB of text, took 8 seconds to parse and 1.7 GB to hold.
 */
export const jsonLimits = { levels: 100, values: 500_000 } as const

/**
 * Which limit a text is over; null where none. Looks at brackets and commas outside of strings only, of which there is
 * one for each value and two for an empty list or object; whether the text is JSON at all is for the parser to say.
 */
export function passedJsonLimit(
  text: string,
  limits: Record<keyof typeof jsonLimits, number>,
): 'levels' | 'values' | null {
  if (isWithin(text, limits)) return null
  let depth = 0
  let values = 1
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === quote) {
      i = endOfString(text, i)
      if (i < 0) return null
    } else if (code === comma) {
      if (++values > limits.values) return 'values'
    } else if (code === openBracket || code === openBrace) {
      if (++depth > limits.levels) return 'levels'
      if (++values > limits.values) return 'values'
    } else if (code === closeBracket || code === closeBrace) depth--
  }
  return null
}

/** Shorter than so many values, and with no more brackets than levels: most requests, told without looking at each character. */
function isWithin(text: string, { levels, values }: Record<keyof typeof jsonLimits, number>): boolean {
  if (text.length >= values) return false
  let brackets = 0
  for (const bracket of ['[', '{']) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) {
      if (++brackets > levels) return false
    }
  }
  return true
}

const quote = 0x22
const comma = 0x2c
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

const place = /\(line (\d+) column (\d+)\)$/

/** Where a text stops being JSON, in words that go on after a statement; empty where the parser does not say. */
export function placeOfFault(error: unknown): string {
  const [, line, column] = place.exec(String(error)) ?? []
  return line === undefined ? '' : ` (line ${line}, column ${column})`
}

/** The same of a text that is one line. */
export function columnOfFault(error: unknown): string {
  const column = place.exec(String(error))?.[2]
  return column === undefined ? '' : ` (column ${column})`
}
