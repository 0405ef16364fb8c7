import type { AnalysedField } from '../../text/types.ts'

/**
 * Encodes terms of text/ for the cluster, whose analyzer (`mapping.ts`) only splits them again:
 *
 *   `run|running % fast|quick dog`    run and running at one position, then a gap, fast and quick, dog
 *
 * Phrases only compare adjacent positions, so one gap represents any number of empty positions. A term that occurs
 * twice at one position must count twice without matching further phrases, so its second occurrence is put at the end,
 * between gaps.
 */
const gap = '%'

/**
 * White space, separators, gaps and code points that are not characters. They are escaped by their number, so that an
 * encoded term never equals a gap.
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

/** Encodes a prefix: a term starts with the prefix exactly if the encoded term starts with the encoded prefix. */
const encodePrefix = (prefix: string): string => prefix.replace(special, escaped)

export function encodeField({ terms, positions }: AnalysedField): string {
  const groups: string[] = []
  const repeated: string[] = []
  let last = -1
  let here = new Set<string>()
  const endPosition = () => {
    if (here.size > 0) groups.push([...here].join('|'))
    here = new Set()
  }
  terms.forEach((term, i) => {
    const encoded = encodeTerm(term)
    if (encoded === null) return
    const position = positions[i]!
    if (position !== last) {
      endPosition()
      if (position > last + 1) groups.push(gap)
      last = position
    }
    if (here.has(encoded)) repeated.push(encoded)
    else here.add(encoded)
  })
  endPosition()
  return [...groups, ...repeated.flatMap((term) => [gap, term])].join(' ')
}

/** The encoded terms of each position; a gap has none. */
export const decodeField = (text: string): readonly (readonly string[])[] =>
  text === '' ? [] : text.split(' ').map((group) => (group === gap ? [] : group.split('|')))

/** Marks a term that is a word as written, and that no query searches for in this form. */
const mark = '='

const unmarked = (term: string): string => (term.startsWith(mark) ? term.slice(1) : term)

/** A prefix, encoded with and without the mark. */
export const encodedPrefixes = (prefix: string): readonly string[] => {
  const encoded = encodePrefix(prefix)
  return encoded.startsWith(mark) ? [mark + encoded] : [encoded, mark + encoded]
}

/** The words of a field: the first terms of its positions, without their marks. */
export function wordsOf({ terms, positions }: AnalysedField): string[] {
  const words = terms.filter((_, i) => positions[i] !== positions[i - 1]).map(unmarked)
  return [...new Set(words)]
}
