import { clipped } from './token-budget.ts'

/** A document in a list, from any route. */
export interface ListedDocument {
  readonly dataset_id: string
  readonly source_platform: string
  readonly language?: string | null
  readonly published_at?: string | null
  readonly status?: string
  readonly title?: string | null
  readonly url?: string | null
  readonly author?: { readonly external_author_id: string | null; readonly nickname: string | null } | null
  readonly topics?: readonly string[]
  readonly tags?: readonly string[]
}

const titleCharacters = 300
const urlCharacters = 500
const nameCharacters = 80
const labelsMax = 10

export interface ListedAnswer {
  readonly document_id: string
  readonly more_topics: number | undefined
  readonly more_tags: number | undefined
  readonly quoted: object
}

/** The fields of a document that others have written, such as its title and author. */
export function quotedFieldsOf({ source_platform, title, url, author, topics, tags }: ListedDocument) {
  const labels = (list: readonly string[] | undefined) =>
    list === undefined || list.length === 0 ? undefined : list.map((one) => clipped(one, nameCharacters))
  return {
    source_platform,
    title: title == null ? undefined : clipped(title, titleCharacters),
    // A truncated URL is useless.
    url: url != null && url.length <= urlCharacters ? url : undefined,
    external_author_id: author?.external_author_id ?? undefined,
    author: author?.nickname == null ? undefined : clipped(author.nickname, nameCharacters),
    topics: labels(topics),
    tags: labels(tags),
  }
}

/** The fields of a document that the service itself assigns or checks. */
export const serviceFieldsOf = (id: string, { dataset_id, language, published_at, status }: ListedDocument) => ({
  document_id: id,
  dataset_id,
  language: language ?? undefined,
  published_at: published_at ?? undefined,
  status: status === 'active' ? undefined : status,
})

/** A document in a list. Everything that others have written is in `quoted`. */
export function listed(
  id: string,
  document: ListedDocument,
  more: { readonly text?: string | undefined } = {},
): ListedAnswer {
  const { topics, tags, ...others } = quotedFieldsOf(document)
  const omitted = (list: readonly string[] = []) => (list.length > labelsMax ? list.length - labelsMax : undefined)
  return {
    ...serviceFieldsOf(id, document),
    more_topics: omitted(topics),
    more_tags: omitted(tags),
    quoted: { ...others, topics: topics?.slice(0, labelsMax), tags: tags?.slice(0, labelsMax), text: more.text },
  }
}
