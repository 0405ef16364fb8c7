import type { AnalysedField } from '../../text/types.ts'

/**
 * How terms that text/ made travel: the cluster's analyzer (mapping.ts) only takes a line apart again.
 *
 *   `run|running % fast|quick dog`    run and running at one position, then a hole, fast and quick, dog
 *
 * Phrases ask for neighbours alone, so one hole stands for any number. A term that stands twice at one position is an
 * occurrence more and no other phrase: the second one is put at the end, between holes.
 */
const hole = '%'

/** What would be taken for a space, a separator or a hole, and what is no character, by its number. Never a hole itself. */
const special = /[\s\p{C}|%]/gu
const escaped = (character: string): string => `%${character.codePointAt(0)!.toString(16)};`

/** The cluster refuses terms of more than 32,766 bytes with the whole document; a longer one than this is not indexed. */
const termCharactersMax = 4096

/** `null` for a term that is too long to have been indexed. */
export function encodeTerm(term: string): string | null {
  const encoded = term === '' ? '%;' : encodeBeginning(term)
  return encoded.length > termCharactersMax ? null : encoded
}

/** Terms that begin so, and no others, begin with this when they are encoded. */
const encodeBeginning = (beginning: string): string => beginning.replace(special, escaped)

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

/** Positions, each with its encoded terms; a hole has none. */
export const decodeField = (text: string): readonly (readonly string[])[] =>
  text === '' ? [] : text.split(' ').map((place) => (place === hole ? [] : place.split('|')))

/** Marks a word as it is written, where no query asks for it so. */
const mark = '='

const unmarked = (term: string): string => (term.startsWith(mark) ? term.slice(1) : term)

/** How the encoded terms begin that begin so, a mark apart. */
export const beginningsWith = (beginning: string): readonly string[] => {
  const encoded = encodeBeginning(beginning)
  return encoded.startsWith(mark) ? [mark + encoded] : [encoded, mark + encoded]
}

/** The words that stand in a field: the first terms of its positions, without their marks. */
export function wordsOf({ terms, positions }: AnalysedField): string[] {
  const words = terms.filter((_, i) => positions[i] !== positions[i - 1]).map(unmarked)
  return [...new Set(words)]
}
