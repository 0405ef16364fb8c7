import { callApi } from '../app/call-api.ts'

export interface ChangeEvent {
  readonly sequence: number
  readonly event_id: string
  readonly event_type: string
  readonly dataset_id: string
  readonly source_platform: string
  readonly document_id: string
  readonly changed_fields: readonly string[]
  readonly ingested_at: string
}

export interface ChangePage {
  readonly items: readonly ChangeEvent[]
  readonly next_cursor: string
}

export const pageSize = 200
/** How long the server waits for new events. Many proxies close a silent connection after 30 seconds. */
const waitSeconds = 20

/**
 * Yields pages of the feed from a cursor, or from the start that the query names. Requests the next page when the
 * caller asks for it.
 */
export async function* followChanges(
  query: Readonly<Record<string, string>>,
  cursor: string | null,
  signal: AbortSignal,
): AsyncGenerator<ChangePage, never> {
  const { start, ...bound } = query
  for (let at = cursor; ; ) {
    const where = at === null ? { start } : { cursor: at, wait: waitSeconds }
    const page: ChangePage = await callApi('GET', '/v1/changes', {
      query: { ...bound, ...where, limit: pageSize },
      signal,
    })
    at = page.next_cursor
    yield page
  }
}
