import { Type } from 'typebox'
import { TidemarkError } from '../platform/errors.ts'
import { type IdPrefix, isId } from '../platform/ids.ts'
import { messageOf, pageSize, strict } from '../platform/validation.ts'

const [limitMax, limitDefault] = [200, 50]

const page = {
  limit: pageSize(limitMax, limitDefault),
  before: Type.Optional(Type.String({ maxLength: 128, description: '`next_before` of the previous page.' })),
}

/**
 * The query of a list for operators, newest first. A page continues after the last item of the one before (keyset
 * paging).
 */
export const NewestFirst = Type.Object(page, strict)

/** The query of a list of queued jobs. */
export const QueueNewestFirst = Type.Object(
  {
    unfinished: Type.Optional(Type.Boolean({ default: false, description: 'Only those that have not finished.' })),
    ...page,
  },
  strict,
)

/** Reads the query of a list. `before` is the ID of an item of the list. */
export function pageOf(
  prefix: IdPrefix,
  { limit = limitDefault, before }: { readonly limit?: number; readonly before?: string },
) {
  if (before !== undefined && !isId(prefix, before)) {
    const details = [{ path: 'before', message: 'must be next_before of the previous page' }]
    throw new TidemarkError('invalid_request', messageOf(details), { details })
  }
  return { limit, before: before ?? null }
}

/** Returns the `before` of the next page, or null after a page that is not full, because none follows. */
export const nextBefore = <Item>(found: readonly Item[], limit: number, idOf: (last: Item) => string): string | null =>
  found.length === limit ? idOf(found.at(-1)!) : null
