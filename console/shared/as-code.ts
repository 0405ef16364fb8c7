import { useSignal } from '@preact/signals'
import { type ComponentChild, Fragment, h } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { icon } from '../app/icons.ts'
import { CodeBox } from './code-box.ts'
import { chooseLanguage, codeLanguage } from './code-language.ts'
import { CopyButton } from './copy-button.ts'
import { codeLanguages, codeOf, type ShownRequest } from './request-code.ts'

/** The request behind a view, with its current values. */
export interface RequestBehind {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly variable?: string
}

/**
 * Two buttons of a view. One shows the request behind the view as code. The other copies the view's address, which
 * contains no secret.
 */
export function AsCode({ request }: { readonly request: RequestBehind }): ComponentChild {
  const id = useId()
  const isOpen = useSignal(false)
  const opener = useRef<HTMLButtonElement>(null)
  const close = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen.value) return
    isOpen.value = false
    opener.current?.focus()
  }
  return h(
    Fragment,
    null,
    h(
      'div',
      { class: 'view-tools', onKeyDown: close },
      h(
        'button',
        {
          ref: opener,
          type: 'button',
          class: 'button small',
          'aria-expanded': isOpen.value,
          'aria-controls': id,
          onClick: () => {
            isOpen.value = !isOpen.value
          },
        },
        icon('code'),
        'Code',
      ),
      h(CopyButton, { class: 'button small', text: () => location.href, what: 'the address of what is shown' }, [
        icon('link'),
        'Link',
      ]),
    ),
    h(
      'div',
      { id, class: 'as-code', hidden: !isOpen.value, onKeyDown: close },
      isOpen.value ? h(Code, { request }) : null,
    ),
  )
}

function Code({ request }: { readonly request: RequestBehind }): ComponentChild {
  const { method, path, body, headers = {}, variable = 'TIDEMARK_KEY' } = request
  const shown: ShownRequest = {
    method,
    url: `${location.origin}${path}`,
    headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? null : JSON.stringify(body, null, 2),
    variable,
    answer: { kind: 'json' },
  }
  const languages = codeLanguages.map((language) =>
    h(
      'button',
      {
        key: language,
        type: 'button',
        'aria-pressed': language === codeLanguage.value,
        onClick: () => chooseLanguage(language),
      },
      language,
    ),
  )
  const title = h('span', { class: 'languages', role: 'group', 'aria-label': 'Language' }, languages)
  return h(CodeBox, { title, text: codeOf(codeLanguage.value, shown) })
}
