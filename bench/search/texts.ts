import type { PutVersion } from '../../src/search/search-index.ts'
import type { AnalysedField } from '../../src/text/types.ts'
import { spell } from './spell.ts'

/** For the invented languages of the corpus. */
const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'sv', 'ru', 'pl', 'tr']
const fillers = ['and then some', 'of the other', 'to be said', 'in that place']
/** Stand in every text, and are in no index. */
export const fillerWords = [...new Set(fillers.join(' ').split(' '))]

export const languageOf = ({ columns }: PutVersion): string | null =>
  languages[Number(columns.language?.slice(1))] ?? null

export const titleOf = ({ title }: PutVersion): string => title.terms.map(spell).join(' ')

/** With three further words for each indexed one, so that texts are as long as real chunks are. */
export const textOf = (field: AnalysedField): string =>
  field.terms
    .map(spell)
    .map((term, i) => `${term} ${fillers[i % fillers.length]}${i % 7 === 6 ? '.' : ''}`)
    .join(' ')
