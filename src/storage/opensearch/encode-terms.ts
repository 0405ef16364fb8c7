import type { AnalysedField } from '../../text/types.ts'

/**
 * The encoding of terms from text/ for the cluster, whose analyzer (mapping.ts) only splits a line again:
 *
 *   `run|running % fast|quick dog`    run and running at one position, then a hole, fast and quick, dog
 *
 * Phrases only compare neighbours, so one hole stands for any number of empty positions. A term that occurs twice at
 * one position counts twice but makes no other phrase: the second one is put at the end, between holes.
 */
const hole = '%'

/**
 * Characters that would be read as a space, a separator or a hole, and code points that are not characters, by their
 * number. The result is never a hole.
 */
const special = /[\s\p{C}|%]/gu
const escaped = (character: string): string => `%${character.codePointAt(0)!.toString(16)};`

/** The cluster refuses a document with a term of more than 32,766 bytes; longer terms than this are not indexed. */
const termCharactersMax = 4096

/** `null` for a term that is too long to be indexed. */
export function encodeTerm(term: string): string | null {
  const encoded = term === '' ? '%;' : encodePrefix(term)
  return encoded.length > termCharactersMax ? null : encoded
}

/** Encodes a prefix: exactly the terms that begin with it begin with the result when they are encoded. */
const encodePrefix = (beginning: string): string => beginning.replace(special, escaped)

export function encodeField({ terms, positions }: AnalysedField): string {
  const places: string[] = []
  const repeated: string[] = []
  let last = -1
  let here = new Set<string>()
  const endPlace = () => {
    if (here.size > 0) places.push([...here].join('|'))
    here = new Set()
  }
  terms.forEach((term, i) => {
    const encoded = encodeTerm(term)
    if (encoded === null) return
    const position = positions[i]!
    if (position !== last) {
      endPlace()
      if (position > last + 1) places.push(hole)
      last = position
    }
    if (here.has(encoded)) repeated.push(encoded)
    else here.add(encoded)
  })
  endPlace()
  return [...places, ...repeated.flatMap((term) => [hole, term])].join(' ')
}

/** The encoded terms of each position; a hole has none. */
export const decodeField = (text: string): readonly (readonly string[])[] =>
  text === '' ? [] : text.split(' ').map((place) => (place === hole ? [] : place.split('|')))

/** Marks a word as written that no query asks for in this form. */
const mark = '='

const unmarked = (term: string): string => (term.startsWith(mark) ? term.slice(1) : term)

/** The encoded prefixes of a prefix, with and without a mark. */
export const encodedPrefixes = (beginning: string): readonly string[] => {
  const encoded = encodePrefix(beginning)
  return encoded.startsWith(mark) ? [mark + encoded] : [encoded, mark + encoded]
}

/** The words of a field: the first terms of its positions, without their marks. */
export function wordsOf({ terms, positions }: AnalysedField): string[] {
  const words = terms.filter((_, i) => positions[i] !== positions[i - 1]).map(unmarked)
  return [...new Set(words)]
}
