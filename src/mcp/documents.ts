import { clipped } from './token-budget.ts'

/** A document as lists have it, whichever route it comes from. */
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
const wordsMax = 10

export interface ListedAnswer {
  readonly document_id: string
  readonly quoted: object
}

/** What we say of a document; everything that whoever wrote or collected it says is `quoted`. */
export function listed(
  id: string,
  document: ListedDocument,
  more: { readonly text?: string | undefined } = {},
): ListedAnswer {
  const { author } = document
  const words = (list: readonly string[] | undefined) =>
    list === undefined || list.length === 0
      ? undefined
      : list.slice(0, wordsMax).map((one) => clipped(one, nameCharacters))
  const told = {
    document_id: id,
    dataset_id: document.dataset_id,
    source_platform: document.source_platform,
    language: document.language ?? undefined,
    published_at: document.published_at ?? undefined,
    status: document.status === 'active' ? undefined : document.status,
    quoted: {
      title: document.title == null ? undefined : clipped(document.title, titleCharacters),
      // Half of an address leads nowhere.
      url: document.url != null && document.url.length <= urlCharacters ? document.url : undefined,
      external_author_id: author?.external_author_id ?? undefined,
      author: author?.nickname == null ? undefined : clipped(author.nickname, nameCharacters),
      topics: words(document.topics),
      tags: words(document.tags),
      text: more.text,
    },
  }
  return told
}
