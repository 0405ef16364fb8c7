/**
 * The limits of a JSON text, checked before it is parsed. Deep nesting overflows the stack of later code (validation,
 * cloning, writing). Many small values cost far more time and memory than their text: an empty list is two characters.
 */
export const jsonLimits = { levels: 100, values: 500_000 } as const

/**
 * Returns which limit a text exceeds, or null. Counts only brackets and commas outside strings: one for each value, two
 * for an empty list or object. The parser decides later whether the text is JSON.
 */
export function exceededJsonLimit(
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

/**
 * Whether a text is certainly within the limits: shorter than `values`, with no more brackets than `levels`. That
 * settles most requests without reading each character.
 */
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

/**
 * Returns where the string that opens at `start` closes; -1 if it does not. A quote after an odd number of backslashes
 * is text.
 */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++
    if (slashes % 2 === 0) return end
  }
  return -1
}

const reportedPosition = /\(line (\d+) column (\d+)\)$/

/** Returns the position of a JSON error, as the end of a sentence; empty if the parser does not report it. */
export function positionOfFault(error: unknown): string {
  const [, line, column] = reportedPosition.exec(String(error)) ?? []
  return line === undefined ? '' : ` (line ${line}, column ${column})`
}

/** The same for a text of one line. */
export function columnOfFault(error: unknown): string {
  const column = reportedPosition.exec(String(error))?.[2]
  return column === undefined ? '' : ` (column ${column})`
}
