import { Type } from 'typebox'
import { filterSchemas } from '../../document/filters.ts'
import { type ListedDocument, listed } from '../documents.ts'
import { fitting } from '../token-budget.ts'
import { codes, cursor, listLength, time, tool } from '../tool.ts'

interface Entry extends ListedDocument {
  readonly id: string
}

export interface Listing {
  readonly documents: readonly { readonly document: Entry }[]
  readonly next_cursor?: string
  readonly created_from: string | null
  readonly created_to: string | null
}

const documentsDefault = 20

export const browse = tool(
  {
    name: 'browse',
    title: 'Browse documents',
    description:
      'Lists documents by exact conditions, most recently ingested first. Use it for what is new, and for everything with a topic, tag or category. It does not search in texts: use `search` for that. ' +
      'Without `created_from` and `created_to` the window is the last 24 hours; it is at most 31 days. Continue with `cursor` = `next_cursor`, everything else unchanged.',
    quotes: true,
    fields: {
      dataset_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Only this dataset.' })),
      source_platforms: codes('Only these platforms.'),
      ...filterSchemas('Only ', 'source_platforms', codes),
      content_types: codes('Only these content types.'),
      created_from: time('Ingested at this time or later.'),
      created_to: time('Ingested before this time.'),
      published_from: time('Published at this time or later.'),
      published_to: time('Published before this time.'),
      query: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 4096,
          description: 'Look up one document by its URL or ID; needs no window. Not a search.',
        }),
      ),
      limit: Type.Optional(listLength(50, documentsDefault)),
      cursor: cursor('`next_cursor` of the previous response.'),
    },
  },
  async ({ ...conditions }, api, tokens) =>
    listingAnswer(await api.get<Listing>('/v1/documents/browse', { limit: documentsDefault, ...conditions }), tokens),
)

/** The documents of a catalog page that fit. */
export function listingAnswer({ documents, next_cursor, created_from, created_to }: Listing, tokens: number): object {
  const items = documents.map(({ document }) => listed(document.id, document))
  const { shown, left } = fitting(items, ({ document_id }) => document_id, tokens - 250)
  return {
    came_in_from: created_from ?? undefined,
    came_in_to: created_to ?? undefined,
    documents: shown,
    not_shown: left.length === 0 ? undefined : left,
    next_cursor,
  }
}
