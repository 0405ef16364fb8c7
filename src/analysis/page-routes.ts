import { Type } from 'typebox'
import type { Cursors } from '../cursors.ts'
import { type ErrorCode, TidemarkError } from '../errors.ts'
import { analysisLimits } from './limits.ts'

/** What the lists of this slice have in common: newest first, by id, with a signed cursor. */
export const pageParameters = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: analysisLimits.pageMax, default: analysisLimits.pageDefault }),
  ),
  cursor: Type.Optional(
    Type.String({ description: '`next_cursor` of the previous page, with the same other parameters.' }),
  ),
}

export async function openCursor(
  cursors: Cursors,
  given: { readonly path: string; readonly cursor: string | undefined },
  binding: unknown,
  invalid: ErrorCode,
): Promise<string | null> {
  if (given.cursor === undefined) return null
  const opened = await cursors.open<string>(given.cursor, binding)
  if (opened.ok) return opened.position
  const message = 'is not a cursor of this request: send next_cursor unchanged, with the same parameters'
  throw new TidemarkError(invalid, `${given.path} ${message}`, { details: [{ path: given.path, message }] })
}

/** A page from one item more than asked for, which tells whether another page follows. */
export function pageOf<Item>(
  found: readonly Item[],
  limit: number,
  sign: (last: Item) => string,
): { readonly items: readonly Item[]; readonly next: { next_cursor?: string } } {
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? { next_cursor: sign(items.at(-1)!) } : {} }
}
