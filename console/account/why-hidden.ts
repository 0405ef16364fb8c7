import { useSignal } from '@preact/signals'
import { type ComponentChild, h } from 'preact'
import { useId } from 'preact/hooks'
import type { Entitlement } from '../app/account.ts'
import { ApiError, callApi, inWords } from '../app/call-api.ts'
import { pathSegment } from '../shared/path-segment.ts'

interface Found {
  readonly id: string
  readonly title?: string | null
}

/**
 * Says, entry by entry, which documents the application may read. The server does not tell a hidden document from one
 * that does not exist, so this page cannot either.
 */
export function WhyHidden({ entitlements }: { readonly entitlements: readonly Entitlement[] }): ComponentChild {
  const id = useId()
  const typed = useSignal('')
  const found = useSignal<Found | 'hidden' | null>(null)
  const fault = useSignal<string | null>(null)
  const look = async (event: Event): Promise<void> => {
    event.preventDefault()
    found.value = null
    fault.value = null
    try {
      found.value = await callApi<Found>('GET', `/v1/documents/${pathSegment(typed.value.trim())}`)
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) found.value = 'hidden'
      else fault.value = inWords(error)
    }
  }
  return h(
    'section',
    { class: 'card why', 'aria-labelledby': `${id}-title` },
    h('h2', { id: `${id}-title` }, 'Why can’t I see it?'),
    h(
      'form',
      { onSubmit: look, class: 'why-form' },
      h('label', { for: id }, 'Document ID'),
      h('input', {
        id,
        required: true,
        maxLength: 200,
        spellcheck: false,
        autocomplete: 'off',
        placeholder: 'doc_…',
        onInput: (event: Event) => {
          typed.value = (event.currentTarget as HTMLInputElement).value
          // The last result was about another document.
          found.value = null
          fault.value = null
        },
      }),
      h('button', { type: 'submit', class: 'button' }, 'Check'),
    ),
    h(
      'div',
      { role: 'status' },
      fault.value === null ? null : h('p', { class: 'fault' }, fault.value),
      found.value === null
        ? null
        : found.value === 'hidden'
          ? h(Hidden, { entitlements })
          : h(Seen, { found: found.value }),
    ),
  )
}

function Seen({ found }: { readonly found: Found }): ComponentChild {
  return h('p', null, 'This application can read it: ', h('span', { dir: 'auto' }, found.title || found.id), '.')
}

function Hidden({ entitlements }: { readonly entitlements: readonly Entitlement[] }): ComponentChild {
  if (entitlements.length === 0)
    return h('p', null, 'This application has no entitlements, so it can read no documents.')
  return h(
    'div',
    null,
    h(
      'p',
      null,
      'Not found: either there is no such document, or the entitlements do not cover it. The server does not say which. To be readable, a document must meet all conditions of one entry:',
    ),
    entitlements.map((entry, i) =>
      h(
        'div',
        { key: entry.entitlement_id },
        h('h3', null, `Entry ${i + 1}`),
        h(
          'ul',
          null,
          conditionsOf(entry).map((condition) => h('li', { key: condition, dir: 'auto' }, condition)),
        ),
      ),
    ),
    h('p', { class: 'note' }, 'A new document can be read by its ID at once; searches find it a moment later.'),
  )
}

function conditionsOf(entry: Entitlement): readonly string[] {
  const within = (names: readonly string[] | null | undefined, what: string): string[] =>
    names && names.length > 0 ? [`its ${what} is ${names.length === 1 ? names[0] : `one of ${names.join(', ')}`}`] : []
  const { published_from: from, published_to: to } = entry
  return [
    ...within(entry.datasets, 'dataset'),
    ...within(entry.platforms, 'platform'),
    ...within(entry.languages, 'language'),
    ...within(entry.regions, 'region'),
    ...(from ? [`it was published at ${from} or later`] : []),
    ...(to ? [`it was published before ${to}`] : []),
  ]
}
