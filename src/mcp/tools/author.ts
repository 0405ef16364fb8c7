import { Type } from 'typebox'
import { clipped } from '../token-budget.ts'
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
const fieldsMax = 20

export const author = tool(
  {
    name: 'author',
    title: 'Look up an author',
    description:
      'What is known of an author on a platform, and the documents of the window, the latest to come in first. `search` and `browse` tell `external_author_id`. ' +
      'Without `created_from` and `created_to` it is about the last 24 hours; a window has 31 days at most, so look further back where nothing is found.',
    quotes: true,
    fields: {
      platform: Type.String({ minLength: 1, maxLength: 128, description: 'The code of the platform.' }),
      external_author_id: Type.String({ minLength: 1, maxLength: 512, description: 'The id of the author there.' }),
      dataset_id: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'One dataset.' })),
      created_from: time('Documents that came in then or later.'),
      created_to: time('Documents that came in before.'),
      limit: Type.Optional(listLength(50, documentsDefault)),
    },
  },
  async ({ platform, external_author_id, limit = documentsDefault, ...window }, api, tokens) => {
    const path = `/v1/users/${encodeURIComponent(platform)}/${encodeURIComponent(external_author_id)}`
    const { user } = await api.get<Profile>(path, window)
    const listing = await api.get<Listing>(`${path}/documents`, { ...window, limit })
    const known = Object.entries(user.author ?? {}).filter(([, value]) => value !== null)
    const quoted = Object.fromEntries(
      known
        .slice(0, fieldsMax)
        .map(([name, value]) => [clipped(name, 40), typeof value === 'string' ? clipped(value, 200) : value]),
    )
    const head = { platform, external_author_id, last_seen_at: user.observed_at, quoted }
    return { ...head, ...listingAnswer(listing, tokens - Math.ceil(JSON.stringify(head).length / 2)) }
  },
)
