import { columnOfFault, exceededJsonLimit, jsonLimits } from '../platform/json-text.ts'
import type { IncomingDocument, Refusal } from './content-store.ts'
import { checkDocument } from './document-input.ts'
import { ingestLimits } from './limits.ts'
import type { Line } from './read-lines.ts'

/** A checked line: a document, a refusal, or null for an empty line. */
export type CheckedLine = { readonly document: IncomingDocument } | { readonly refusal: Refusal } | null

export function checkLine(line: Line, complete: (input: unknown) => unknown = (input) => input): CheckedLine {
  if (line.tooLong) return refusal(`the line is longer than ${ingestLimits.lineBytesMax} bytes`)
  if (line.text.trim() === '') return null
  // Replacing the bytes silently would hide the error from the sender.
  if (line.garbled) return refusal('the line is not valid UTF-8')
  // A shorter line cannot have so many values. The depth is checked with the document.
  if (
    line.text.length > jsonLimits.values &&
    exceededJsonLimit(line.text, { ...jsonLimits, levels: Infinity }) !== null
  ) {
    return refusal(`the line has more than ${jsonLimits.values} values`)
  }
  let input: unknown
  try {
    input = JSON.parse(line.text)
  } catch (error) {
    if (!line.ended) return refusal('the line is not valid JSON: it seems to have been cut off')
    return refusal(`the line is not valid JSON${columnOfFault(error)}`)
  }
  return checkDocument(complete(input))
}

const refusal = (message: string): { refusal: Refusal } => ({ refusal: { code: 'invalid_document', message } })
