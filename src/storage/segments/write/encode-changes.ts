import type { IndexChange } from '../../../indexing/fed-index.ts'
import type { PackedChanges } from '../../../indexing/packed-changes.ts'
import { isPacked, readPacked } from '../../../indexing/read-packed.ts'
import { encodeTokens } from '../format/token-stream.ts'
import type { TermDictionary } from '../memory/term-dictionary.ts'

/** A field in the form of segments, and its length for BM25. */
export interface EncodedField {
  readonly tokens: Uint32Array
  readonly length: number
}

/** The changes of a batch, in either form, with term numbers of the dictionary. */
export function encodeChanges(
  changes: readonly IndexChange[] | PackedChanges,
  dictionary: TermDictionary,
): readonly IndexChange<EncodedField>[] {
  const encode = <Term>(
    terms: ArrayLike<Term>,
    positions: ArrayLike<number>,
    length: number,
    number: (term: Term) => number,
  ): EncodedField => {
    const tokens = encodeTokens(terms, positions, number)
    dictionary.recordRoles(tokens)
    return { tokens, length }
  }
  if (!isPacked(changes)) {
    const number = (term: string) => dictionary.add(term)
    return changes.map((one) =>
      withFields(one, ({ terms, positions, length }) => encode(terms, positions, length, number)),
    )
  }
  const { termText, termStarts, terms, positions } = changes
  // Each term is looked up once, and only if a field keeps it, because the end of a very long field is dropped.
  const numbers = new Uint32Array(termStarts.length)
  const number = (term: number): number => {
    const known = numbers[term]!
    if (known !== 0) return known
    const start = termStarts[term]!
    const added = dictionary.addBytes(termText, start, termStarts[term + 1]! - start)
    numbers[term] = added
    return added
  }
  return readPacked(changes).map((one) =>
    withFields(one, ([from, to, length]) =>
      encode(terms.subarray(from, to), positions.subarray(from, to), length, number),
    ),
  )
}

function withFields<Field>(
  change: IndexChange<Field>,
  encode: (field: Field) => EncodedField,
): IndexChange<EncodedField> {
  if (change.kind !== 'put_version') return change
  const chunks = change.chunks.map((chunk) => ({ ...chunk, body: encode(chunk.body) }))
  return { ...change, title: encode(change.title), chunks }
}
