import { Type } from 'typebox'
import { segmentOf } from '../api.ts'
import { clipped, fittingFields, tokensIn } from '../token-budget.ts'
import { listLength, time, tool } from '../tool.ts'
import { type Listing, listingAnswer } from './browse.ts'

interface Profile {
  readonly user: {
    readonly source_platform: string
    readonly external_author_id: string
    readonly author: Readonly<Record<string, string | number | boolean | null>> | null
    readonly observed_at: string
  }
}

const documentsDefault = 10
const valueCharacters = 200

export const author = tool(
  {
    name: 'author',
    title: 'Look up an author',
    description:
      'The profile of an author on a platform, and their documents in a time window, most recently ingested first. `search` and `browse` return `external_author_id`. ' +
      'Without `created_from` and `created_to` the window is the last 24 hours; it is at most 31 days, so look further back if nothing is found.',
    quotes: true,
    fields: {
      platform: Type.String({ minLength: 1, maxLength: 128, description: 'The platform code.' }),
      external_author_id: Type.String({
        minLength: 1,
        maxLength: 512,
        description: 'The ID of the author on the platform.',
      }),
      dataset_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Only this dataset.' })),
      created_from: time('Documents ingested at this time or later.'),
      created_to: time('Documents ingested before this time.'),
      limit: Type.Optional(listLength(50, documentsDefault)),
    },
  },
  async ({ platform, external_author_id, limit = documentsDefault, ...window }, api, tokens) => {
    const path = `/v1/users/${segmentOf('platform', platform)}/${segmentOf('external_author_id', external_author_id)}`
    const { user } = await api.get<Profile>(path, window)
    const listing = await api.get<Listing>(`${path}/documents`, { ...window, limit })
    const fromCollector = {
      source_platform: user.source_platform,
      external_author_id: user.external_author_id,
      ...Object.fromEntries(
        Object.entries(user.author ?? {}).map(([name, value]) => [
          name,
          typeof value === 'string' ? clipped(value, valueCharacters) : value,
        ]),
      ),
    }
    const { shown, left } = fittingFields(fromCollector, Math.floor(tokens / 3))
    const head = {
      last_seen_at: user.observed_at,
      fields_left_out: left === undefined ? undefined : Object.keys(left).length,
      quoted: shown,
    }
    return { ...head, ...listingAnswer(listing, tokens - tokensIn(JSON.stringify(head))) }
  },
)
