import type { PutVersion } from '../../src/indexing/fed-index.ts'
import type { AnalysedField } from '../../src/text/types.ts'

const fillers = ['and then some', 'of the other', 'to be said', 'in that place']
/** Words that occur in every text but are not indexed. */
export const fillerWords = [...new Set(fillers.join(' ').split(' '))]

export const titleOf = ({ title }: PutVersion): string => title.terms.join(' ')

/** Adds three words for each indexed one, so that texts are as long as real chunks. */
export const textOf = (field: AnalysedField): string =>
  field.terms.map((term, i) => `${term} ${fillers[i % fillers.length]}${i % 7 === 6 ? '.' : ''}`).join(' ')
