import { catalogRows } from '../../../document/rows.ts'
import type { CatalogColumns } from '../../../search/search-index.ts'
import type { SegmentData } from './segment-data.ts'

/**
 * A document's catalog columns in a segment, in the order of the table of fields. A text is its number in the
 * dictionary, 0 for none; a number is itself, NaN for none.
 */
export type CatalogNumbers = readonly (number | Uint32Array<ArrayBufferLike>)[]

/** Lists each value once. A value without a number, because the dictionary is full, counts as absent. */
export function numberColumns(columns: CatalogColumns, numberOf: (value: string) => number): CatalogNumbers {
  const values = columns as Readonly<Record<string, number | string | readonly string[] | null>>
  return catalogRows.map(({ property, kind }) => {
    const value = values[property] ?? null
    if (kind === 'integer') return (value as number | null) ?? Number.NaN
    if (kind === 'text') return value === null ? 0 : numberOf(value as string)
    return Uint32Array.from(new Set(value as readonly string[] | null), numberOf).filter((number) => number !== 0)
  })
}

export const catalogNumbersAt = ({ catalog }: SegmentData, document: number): CatalogNumbers =>
  catalogRows.map(({ property }) => {
    const { starts, values } = catalog[property]!
    if (starts === null) return values[document]!
    return (values as Uint32Array<ArrayBufferLike>).subarray(starts[document]!, starts[document + 1]!)
  })
