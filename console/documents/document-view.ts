import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useEffect } from 'preact/hooks'
import { addressOf } from '../app/address-of.ts'
import { icon } from '../app/icons.ts'
import { type ApiResponse, useApi } from '../app/use-api.ts'
import type { ViewProps } from '../app/view-props.ts'
import { AsCode } from '../shared/as-code.ts'
import { CopyButton } from '../shared/copy-button.ts'
import { DocumentName, type Named, nameOf } from '../shared/document-name.ts'
import { pathSegment } from '../shared/path-segment.ts'
import { PictureLink } from '../shared/picture-link.ts'
import { safeUrl } from '../shared/safe-url.ts'
import { dayInWords, momentInWords } from '../shared/words-of-time.ts'
import { AuthorCard } from './author-card.ts'
import type { Content, Detail } from './document-types.ts'
import { MetricLines } from './metric-lines.ts'
import { Neighbours } from './neighbours.ts'
import { VersionDifference } from './version-difference.ts'

/** Shows one document: its text, its metadata, its history, and its links. */
export function DocumentView({ place, params }: ViewProps): ComponentChild {
  const id = params.id ?? ''
  const path = `/v1/documents/${pathSegment(id)}`
  const { body, fault, status } = useApi<Detail>({ path })
  const content = useApi<Content>({ path: `${path}/content` })
  const document = body.value
  const name: Named | null = document && { title: document.title, body: content.body.value?.body }
  useEffect(() => {
    if (name !== null) window.document.title = `${nameOf(name)} · Tidemark`
  }, [document, content.body.value])
  return h(
    'div',
    null,
    h('p', { class: 'way-back' }, h('a', { href: '/documents' }, 'Documents')),
    h(
      'div',
      { class: 'view-head' },
      h('h1', { dir: 'auto' }, name === null ? 'Document' : h(DocumentName, name)),
      h(AsCode, { request: { method: 'GET', path } }),
    ),
    fault.value === null ? null : h(Missing, { fault: fault.value, isHidden: status.value === 404 }),
    document === null
      ? fault.value === null
        ? h('p', { class: 'empty', role: 'status' }, 'Loading …')
        : null
      : h(
          'div',
          { class: 'document-page' },
          h(Facts, { document }),
          h(
            'div',
            { class: 'document-main' },
            h(Text, { content: content.body.value, fault: faultOf(content) }),
            document.version_count > 1
              ? h(VersionDifference, { key: id, documentId: id, count: document.version_count, place })
              : null,
            h(MetricLines, { documentId: id }),
            content.body.value === null ? null : h(Neighbours, { documentId: id, content: content.body.value }),
          ),
          h(
            'div',
            { class: 'document-aside' },
            h(About, { document }),
            document.author ? h(AuthorCard, { document, author: document.author }) : null,
          ),
        ),
  )
}

function Missing({ fault, isHidden }: { readonly fault: string; readonly isHidden: boolean }): ComponentChild {
  return h(
    'div',
    { class: 'empty', role: 'alert' },
    h('p', null, fault),
    isHidden
      ? h('p', null, h('a', { href: '/account' }, 'Your account'), ' shows which documents you can read.')
      : null,
  )
}

function Facts({ document }: { readonly document: Detail }): ComponentChild {
  const url = safeUrl(document.url)
  const facts = [
    document.content_type,
    document.language,
    document.region,
    document.published_at === null ? null : dayInWords(document.published_at),
  ].filter((fact): fact is string => Boolean(fact))
  return h(
    'p',
    { class: 'document-facts wide' },
    h('a', { href: addressOf('/documents', { dataset: document.dataset_id }) }, h('bdi', null, document.dataset_id)),
    h(
      'a',
      { href: addressOf('/documents', { platforms: document.source_platform }) },
      h('bdi', null, document.source_platform),
    ),
    facts.map((fact, i) => h('bdi', { key: i }, fact)),
    document.status === 'unavailable' ? h('span', { class: 'chip' }, 'unavailable') : null,
    h(PictureLink, { address: document.thumbnail_url }),
    url === null
      ? null
      : h('a', { class: 'original', href: url, target: '_blank', rel: 'noreferrer' }, 'Original', icon('out')),
  )
}

const faultOf = ({ fault, status }: ApiResponse<Content>): string | null =>
  status.value === 403 ? 'This application may not read the text of this document.' : fault.value

/** Longer texts are cut here, and a button shows the rest. */
const shownCharacters = 6_000

function Text({ content, fault }: { readonly content: Content | null; readonly fault: string | null }): ComponentChild {
  const isExpanded = useSignal(false)
  if (content === null) return h('p', { class: 'note' }, fault ?? 'Loading the text …')
  const body = content.body ?? ''
  const isCut = body.length > shownCharacters && !isExpanded.value
  return h(
    'article',
    { class: 'card document-text', lang: content.language ?? undefined },
    body === ''
      ? h('p', { class: 'note' }, 'This document has no body.')
      : h('p', { dir: 'auto' }, isCut ? `${body.slice(0, shownCharacters)} …` : body),
    isCut
      ? h(
          'button',
          {
            type: 'button',
            class: 'quiet-button',
            onClick: () => {
              isExpanded.value = true
            },
          },
          `Show all ${body.length.toLocaleString()} characters`,
        )
      : null,
  )
}

function About({ document }: { readonly document: Detail }): ComponentChild {
  return h(
    'section',
    { class: 'card', 'aria-labelledby': 'about' },
    h('h2', { id: 'about' }, 'About'),
    h(
      'dl',
      { class: 'facts' },
      h(Words, { name: 'Classifications', parameter: 'classifications', words: document.classifications }),
      h(Words, { name: 'Topics', parameter: 'topics', words: document.topics }),
      h(Words, { name: 'Tags', parameter: 'tags', words: document.tags }),
      [
        ['Ingested', document.created_at],
        ['Last observed', document.observed_at],
      ].map(([name, time]) => h('div', { key: name }, h('dt', null, name), h('dd', null, momentInWords(time!)))),
      [
        ['Document ID', document.id],
        ['External ID', document.external_id],
      ].map(([name, id]) =>
        h(
          'div',
          { key: name },
          h('dt', null, name),
          h(
            'dd',
            { class: 'id' },
            h('code', null, id),
            h(CopyButton, { class: 'quiet-button', text: () => id!, what: `the ${name}` }),
          ),
        ),
      ),
    ),
  )
}

interface WordsProps {
  readonly name: string
  readonly parameter: string
  readonly words: readonly string[] | undefined
}

/**
 * Links each value to the documents that share it. A value with a comma has no link, because commas separate values.
 */
function Words({ name, parameter, words = [] }: WordsProps): ComponentChild {
  if (words.length === 0) return null
  return h(
    'div',
    null,
    h('dt', null, name),
    h(
      'dd',
      { class: 'words' },
      words.map((word) =>
        word.includes(',')
          ? h('bdi', { key: word, class: 'chip' }, word)
          : h(
              'a',
              { key: word, class: 'chip', href: addressOf('/documents', { [parameter]: word }) },
              h('bdi', null, word),
            ),
      ),
    ),
  )
}
