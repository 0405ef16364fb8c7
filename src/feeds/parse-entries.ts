import { createHash } from 'node:crypto'
import { type AtomFeed, type DcNs, type JsonFeed, parseFeed, type RdfFeed, type RssFeed } from 'feedsmith'
import { guessLanguage } from '../text/guess-language.ts'
import { htmlToText } from './html-to-text.ts'

/** A document as the collector API takes it. The sender adds dataset and platform. */
export interface FeedDocument {
  readonly external_id: string
  readonly content_type: 'article'
  readonly title?: string
  readonly body?: string
  readonly url?: string
  readonly language?: string
  readonly published_at?: string
  readonly author?: { readonly external_author_id?: string; readonly nickname?: string; readonly home_page?: string }
  readonly tags?: readonly string[]
}

/** An entry of any feed format, in one shape. Texts are as in the feed. */
interface Entry {
  readonly id: string | undefined
  readonly link: string | undefined
  readonly title: string | undefined
  readonly html: string | undefined
  readonly plain: string | undefined
  readonly published: string | undefined
  readonly language: string | undefined
  readonly author: { readonly name?: string | undefined; readonly uri?: string | undefined } | undefined
  readonly tags: readonly (string | undefined)[]
}

const limits = { title: 2000, body: 4_000_000, tags: 200, tag: 256, id: 512, url: 4096, name: 500 } as const

/** The entries of a feed as documents in feed order, each external id once. Throws if the text is not a feed. */
export function parseEntries(
  text: string,
  feedUrl: string,
  entriesMax: number,
  defaultLanguage: string | undefined,
): FeedDocument[] {
  const parsed = parseFeed(text)
  const entries =
    parsed.format === 'atom'
      ? atomEntries(parsed.feed)
      : parsed.format === 'json'
        ? jsonEntries(parsed.feed)
        : parsed.format === 'rdf'
          ? rdfEntries(parsed.feed)
          : rssEntries(parsed.feed)
  const documents = new Map<string, FeedDocument>()
  for (const entry of entries.slice(0, entriesMax)) {
    const document = documentOf(entry, feedUrl, defaultLanguage)
    if (document !== null && !documents.has(document.external_id)) documents.set(document.external_id, document)
  }
  return [...documents.values()]
}

const firstOf = (dc: DcNs.ItemOrFeed<string> | undefined, key: 'creators' | 'languages' | 'dates') => dc?.[key]?.[0]

function rssEntries(feed: Partial<RssFeed.Feed<string>>): Entry[] {
  return (feed.items ?? []).map((item) => {
    const author = item.authors?.[0]
    return {
      id: item.guid?.value,
      link: item.link ?? (item.guid?.isPermaLink === false ? undefined : item.guid?.value),
      title: item.title,
      html: item.content?.encoded ?? item.description,
      plain: undefined,
      published: item.pubDate ?? firstOf(item.dc, 'dates'),
      language: firstOf(item.dc, 'languages') ?? feed.language,
      author: { name: firstOf(item.dc, 'creators') ?? (typeof author === 'string' ? author : author?.name) },
      tags: item.categories?.map(({ name }) => name) ?? [],
    }
  })
}

function rdfEntries(feed: Partial<RdfFeed.Feed<string>>): Entry[] {
  return (feed.items ?? []).map((item) => ({
    id: item.rdf?.about ?? item.link,
    link: item.link,
    title: item.title,
    html: item.content?.encoded ?? item.description,
    plain: undefined,
    published: firstOf(item.dc, 'dates'),
    language: firstOf(item.dc, 'languages') ?? firstOf(feed.dc, 'languages'),
    author: { name: firstOf(item.dc, 'creators') },
    tags: item.dc?.subjects ?? [],
  }))
}

function atomEntries(feed: Partial<AtomFeed.Feed<string>>): Entry[] {
  return (feed.entries ?? []).map((entry) => {
    const link = entry.links?.find(({ rel }) => rel === undefined || rel === 'alternate') ?? entry.links?.[0]
    const text = entry.content?.value === undefined ? entry.summary : entry.content
    const isPlain = text?.type === 'text' || text?.type === undefined
    const author = entry.authors?.[0] ?? feed.authors?.[0]
    return {
      id: entry.id,
      link: link?.href,
      title: entry.title?.value,
      html: isPlain ? undefined : text?.value,
      plain: isPlain ? text?.value : undefined,
      published: entry.published ?? entry.updated,
      language: entry.xml?.lang ?? feed.xml?.lang,
      author: author === undefined ? undefined : { name: author.name, uri: author.uri },
      tags: entry.categories?.map(({ label, term }) => label ?? term) ?? [],
    }
  })
}

function jsonEntries(feed: Partial<JsonFeed.Feed<string>>): Entry[] {
  return (feed.items ?? []).map((item) => {
    const author = item.authors?.[0] ?? feed.authors?.[0]
    return {
      id: item.id,
      link: item.url ?? item.external_url,
      title: item.title,
      html: item.content_html,
      plain: item.content_text ?? item.summary,
      published: item.date_published ?? item.date_modified,
      language: item.language ?? feed.language,
      author: author === undefined ? undefined : { name: author.name, uri: author.url },
      tags: item.tags ?? [],
    }
  })
}

function documentOf(entry: Entry, feedUrl: string, defaultLanguage: string | undefined): FeedDocument | null {
  const title = cut(oneLine(htmlToText(entry.title ?? '')), limits.title)
  const body = cut(entry.html === undefined ? (entry.plain ?? '').trim() : htmlToText(entry.html), limits.body)
  if (title === '' && body === '') return null
  const link = entry.link === undefined ? null : URL.parse(entry.link.trim(), feedUrl)
  const url = link !== null && /^https?:$/.test(link.protocol) && link.href.length <= limits.url ? link.href : undefined
  const published = timeOf(entry.published)
  const language = languageOf(entry.language) ?? defaultLanguage ?? guessLanguage(`${title}\n${body}`) ?? undefined
  const tags = [...new Set(entry.tags.map((tag) => cut(oneLine(tag ?? ''), limits.tag)).filter((tag) => tag !== ''))]
  const author = authorOf(entry.author)
  return {
    external_id: externalId(entry, url, `${title}\n${entry.published ?? ''}\n${title === '' ? body : ''}`),
    content_type: 'article',
    ...(title === '' ? {} : { title }),
    ...(body === '' ? {} : { body }),
    ...(url === undefined ? {} : { url }),
    ...(language === undefined ? {} : { language }),
    ...(published === undefined ? {} : { published_at: published }),
    ...(author === undefined ? {} : { author }),
    ...(tags.length === 0 ? {} : { tags: tags.slice(0, limits.tags) }),
  }
}

/** The feed's own id of the entry, else its address, else a digest of its content. Never longer than the API takes. */
function externalId(entry: Entry, url: string | undefined, content: string): string {
  const named = oneLine(entry.id ?? '') || url
  if (named !== undefined && named.length <= limits.id) return named
  return `sha256:${createHash('sha256')
    .update(named ?? content)
    .digest('hex')}`
}

function authorOf(author: Entry['author']): FeedDocument['author'] | undefined {
  const nickname = cut(oneLine(htmlToText(author?.name ?? '')), limits.name)
  const page = URL.parse(author?.uri ?? '')
  const homePage = page !== null && page.href.length <= limits.url ? page.href : undefined
  if (nickname === '' && homePage === undefined) return undefined
  return {
    external_author_id: cut(homePage ?? nickname, limits.id),
    ...(nickname === '' ? {} : { nickname }),
    ...(homePage === undefined ? {} : { home_page: homePage }),
  }
}

/** Parses RFC 822 or RFC 3339. Other formats, and years that documents do not have, give undefined. */
function timeOf(text: string | undefined): string | undefined {
  const timeMs = Date.parse(text?.trim() ?? '')
  if (Number.isNaN(timeMs)) return undefined
  const year = new Date(timeMs).getUTCFullYear()
  return year >= 1000 && year <= 9999 ? new Date(timeMs).toISOString() : undefined
}

const languageOf = (text: string | undefined): string | undefined =>
  /^[a-z]{2,3}(?=$|[-_])/i.exec(text?.trim() ?? '')?.[0].toLowerCase()

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed here
const oneLine = (text: string): string => text.replace(/[\u0000-\u001f\u007f\s]+/g, ' ').trim()

/** Cuts by UTF-16 units, never through a surrogate pair. */
const cut = (text: string, most: number): string => (text.length <= most ? text : text.slice(0, most)).toWellFormed()
