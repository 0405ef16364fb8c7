import { TidemarkError } from '../errors.ts'
import { type IdPrefix, isId } from '../ids.ts'
import { Type } from '../schema-types.ts'
import { messageOf, pageSize, strict } from '../validation.ts'

/** Lists for operators: newest first, in pages that go on from the last one that was seen. */
const [limitMax, limitDefault] = [200, 50]

const page = {
  limit: pageSize(limitMax, limitDefault),
  before: Type.Optional(Type.String({ description: '`next_before` of the previous page.' })),
}

export const NewestFirst = Type.Object(page, strict)

/** Of what is worked off. */
export const QueueNewestFirst = Type.Object(
  {
    unfinished: Type.Optional(Type.Boolean({ default: false, description: 'Only those that have not finished.' })),
    ...page,
  },
  strict,
)

/** `before` is the id of one of what is listed. */
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

/** What the next page goes on from; null where a page was not full, so that none follows. */
export const nextBefore = <Item>(found: readonly Item[], limit: number, idOf: (last: Item) => string): string | null =>
  found.length === limit ? idOf(found.at(-1)!) : null
