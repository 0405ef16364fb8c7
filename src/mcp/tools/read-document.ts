import { Type } from 'typebox'
import { Refusal, segmentOf } from '../api.ts'
import { type ListedDocument, quotedFieldsOf, serviceFieldsOf } from '../documents.ts'
import { fittingFields, partOf, tokensIn } from '../token-budget.ts'
import { tool } from '../tool.ts'

interface Detail extends ListedDocument {
  readonly id: string
  readonly content_type: string | null
  readonly region: string | null
  readonly created_at: string
  readonly observed_at: string
  readonly version_count: number
  readonly classifications?: readonly string[]
  readonly score?: number | null
  readonly snapshot?: { readonly observed_at: string; readonly metrics: Readonly<Record<string, number>> } | null
}

interface Content {
  readonly version_id: string
  readonly is_current: boolean
  readonly title?: string | null
  readonly body: string | null
}

/** Tokens for offsets, a note, and the names of omitted fields. */
const tokensOfRest = 150

export const readDocument = tool(
  {
    name: 'read_document',
    title: 'Read a document',
    description:
      'The text of one document, with its metadata; `left_out` counts the values that did not fit into `max_tokens`. A long text comes in parts: continue with `offset` = `next_offset` until it is absent. ' +
      'IDs come from `search`, `browse`, `changes` and `author`.',
    quotes: true,
    fields: {
      document_id: Type.String({ minLength: 1, maxLength: 128, description: 'From another tool: doc_…' }),
      version_id: Type.Optional(
        Type.String({ minLength: 1, maxLength: 128, description: 'An earlier version. Default: the current one.' }),
      ),
      offset: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 1_000_000_000, default: 0, description: 'Where in the text to start.' }),
      ),
    },
  },
  async ({ document_id, version_id, offset = 0 }, api, tokens) => {
    const path = `/v1/documents/${segmentOf('document_id', document_id)}`
    // An earlier version may be readable while the current document is not. Then the answer has only its text.
    const detail = await allowing(version_id === undefined ? [] : [404], api.get<Detail>(path))
    const content = await allowing(detail === null ? [] : [403], api.get<Content>(`${path}/content`, { version_id }))
    const known = {
      ...(detail === null ? { document_id } : serviceFieldsOf(detail.id, detail)),
      first_seen_at: detail?.created_at,
      last_seen_at: detail?.observed_at,
      versions: detail?.version_count,
      version_id: content?.version_id,
      is_current_version: content?.is_current,
      score: detail?.score,
    }
    const title = content?.title ?? detail?.title ?? null
    const fromCollector = {
      ...(detail === null ? { title } : quotedFieldsOf({ ...detail, title })),
      content_type: detail?.content_type,
      region: detail?.region,
      classifications: detail?.classifications,
      metrics: detail?.snapshot?.metrics,
    }
    const room = tokens - tokensIn(JSON.stringify(known)) - tokensOfRest
    const text = content?.body ?? ''
    // Metadata may take at most half of the tokens that the text could use, so that every call advances in the text.
    const half = partOf(text, offset, Math.floor(room / 2)).part
    const { shown, left: left_out } = fittingFields(fromCollector, room - tokensIn(JSON.stringify(half)))
    if (content === null) {
      return {
        ...known,
        left_out,
        note: 'this key cannot read texts: its application does not have the permission `body`',
        quoted: shown,
      }
    }
    const { part, next } = partOf(text, offset, room - tokensIn(JSON.stringify(shown)))
    return {
      ...known,
      left_out,
      text_characters: text.length,
      offset,
      next_offset: next ?? undefined,
      quoted: { ...shown, text: part },
    }
  },
)

/** Null if the request is refused with one of these statuses. */
async function allowing<Answer>(statuses: readonly number[], request: Promise<Answer>): Promise<Answer | null> {
  try {
    return await request
  } catch (error) {
    if (error instanceof Refusal && statuses.includes(error.status)) return null
    throw error
  }
}
