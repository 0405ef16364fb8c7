import { useSignal, useSignalEffect } from '@preact/signals'
import { type ComponentChild, type ComponentType, Fragment, h } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { SignIn } from '../welcome/sign-in.ts'
import { account } from './account.ts'
import { inWords, isReachable, isUnreachable, throttledUntil, untilReachable, waitingWords } from './call-api.ts'
import { health } from './health.ts'
import { icon } from './icons.ts'
import { loadStyles } from './load-styles.ts'
import { place } from './router.ts'
import { self } from './self.ts'
import { credential, isSignedIn, signOut } from './session.ts'
import { nextTheme, theme } from './theme.ts'
import { mayLeave } from './unsaved.ts'
import type { ViewProps } from './view-props.ts'
import { type View, viewAt, views } from './views.ts'

/** The frame around every view: navigation, server state, account, and current problems. */
export function Shell(): ComponentChild {
  const found = viewAt(place.value.path)
  const title = found?.view.title ?? 'Not found'
  useEffect(() => {
    document.title = place.value.path === '/' ? 'Tidemark' : `${title} · Tidemark`
  }, [title])
  const compact = found?.view.path === '/docs'
  return h(
    Fragment,
    null,
    h('a', { class: 'skip', href: '#main' }, 'Skip to content'),
    h(Rail, { current: found?.view ?? null, compact }),
    h(
      'div',
      { class: 'stage' },
      h(ConnectionStatus, null),
      found === null ? h(NotFound, null) : h(Stage, { key: found.view.path, ...found, place: place.value }),
    ),
  )
}

function Rail({ current, compact }: { readonly current: View | null; readonly compact: boolean }): ComponentChild {
  const open = (view: View): boolean => view.needs === null || credential(view.needs).value !== ''
  const groups = (['Read', 'Operate', 'Learn'] as const)
    .map((name) => ({ name, views: views.filter((view) => view.listed?.group === name && open(view)) }))
    .filter((group) => group.views.length > 0)
  const nav = useRef<HTMLElement>(null)
  const more = useSignal('')
  /** Records at which edges the navigation continues. On a phone it scrolls sideways, and these edges fade. */
  const look = (): void => {
    const { scrollLeft, clientWidth, scrollWidth } = nav.current!
    const [before, after] = [scrollLeft > 1, scrollLeft + clientWidth < scrollWidth - 1]
    more.value = before && after ? 'both' : before ? 'before' : after ? 'after' : ''
  }
  const listed = groups.flatMap((group) => group.views).length
  useEffect(() => {
    const bar = nav.current!
    const link = bar.querySelector<HTMLElement>('[aria-current]')
    if (link !== null) bar.scrollLeft = link.offsetLeft - (bar.clientWidth - link.offsetWidth) / 2
    look()
  }, [current, listed])
  useEffect(() => {
    addEventListener('resize', look)
    return () => removeEventListener('resize', look)
  }, [])
  return h(
    'header',
    { class: `rail ${compact ? 'compact' : ''}` },
    h(
      'a',
      { class: 'brand', href: '/' },
      h('img', { src: '/assets/images/logo.svg', alt: '' }),
      h('span', null, 'Tidemark'),
    ),
    h(
      'nav',
      { ref: nav, 'aria-label': 'Views', 'data-more': more.value, onScroll: look },
      groups.map(({ name, views: listed }) =>
        h(
          'section',
          { key: name },
          h('h2', null, name),
          h(
            'ul',
            null,
            listed.map((view) =>
              h(
                'li',
                { key: view.path },
                h(
                  'a',
                  { href: view.path, title: view.title, 'aria-current': isWithin(current, view) ? 'page' : undefined },
                  icon(view.listed!.icon),
                  h('span', null, view.title),
                ),
              ),
            ),
          ),
        ),
      ),
    ),
    h(Foot, null),
  )
}

/**
 * A view that is not in the navigation belongs to the one whose path it extends, as a document does to the documents.
 */
const isWithin = (current: View | null, listed: View): boolean =>
  current === listed || (current?.listed === null && current.path.startsWith(`${listed.path}/`))

const themeWords = { system: 'same as the system', light: 'light', dark: 'dark' } as const
const themeIcons = { system: 'half', light: 'sun', dark: 'moon' } as const

function Foot(): ComponentChild {
  const { state, words } = health.value
  const name =
    account.value?.name ?? (self.value === null ? '' : `${self.value.name ?? 'Instance token'} (${self.value.role})`)
  return h(
    'div',
    { class: 'rail-foot' },
    h('p', { class: 'health', 'data-state': state, title: `The server: ${words}` }, h('span', null, words)),
    h(
      'div',
      { class: 'rail-tools' },
      h(
        'button',
        { type: 'button', class: 'tool', title: `Colours: ${themeWords[theme.value]}`, onClick: nextTheme },
        icon(themeIcons[theme.value]),
        h('span', { class: 'hidden-label' }, `Colours: ${themeWords[theme.value]}. Change`),
      ),
      isSignedIn.value
        ? h(
            'button',
            {
              type: 'button',
              class: 'tool who',
              title: name === '' ? 'Sign out' : `Sign out: ${name}`,
              onClick: () => {
                if (mayLeave()) signOut()
              },
            },
            h('span', { class: 'who-name', dir: 'auto' }, name),
            icon('leave'),
            h('span', { class: 'hidden-label' }, 'Sign out'),
          )
        : h('a', { class: 'tool who', href: '/sign-in' }, h('span', { class: 'who-name' }, 'Sign in'), icon('key')),
    ),
  )
}

/** Shows why requests wait, and for how long. */
function ConnectionStatus(): ComponentChild {
  const seconds = useSignal(0)
  useSignalEffect(() => {
    const until = throttledUntil.value
    if (until === null) return
    const count = (): void => {
      seconds.value = Math.max(1, Math.ceil((until - Date.now()) / 1000))
    }
    count()
    const timer = setInterval(count, 250)
    return () => clearInterval(timer)
  })
  const words = isUnreachable.value
    ? 'The server is not responding. Retrying; the page continues when it is back.'
    : throttledUntil.value === null
      ? ''
      : `Too many requests. Continuing in ${seconds.value} s.`
  return h('div', { class: 'trouble', role: 'status' }, words === '' ? null : h('p', null, words))
}

const loaded = new Map<View, ComponentType<ViewProps>>()
function Stage({ view, params, place: at }: ViewProps & { readonly view: View }): ComponentChild {
  const main = useRef<HTMLElement>(null)
  const shown = useSignal(loaded.get(view) ?? null)
  const fault = useSignal<string | null>(null)
  const isOpen = view.needs === null || credential(view.needs).value !== ''
  const load = async (): Promise<void> => {
    fault.value = null
    const styles = ['sign-in.css', ...view.styles]
    while (shown.value === null && fault.value === null) {
      try {
        const [component] = await Promise.all([view.load(), ...styles.map((name) => loadStyles(`styles/${name}`))])
        loaded.set(view, component)
        shown.value = component
      } catch (error) {
        // A server that is up would fail in the same way again.
        if (await isReachable()) fault.value = inWords(error)
        else await untilReachable()
      }
    }
  }
  useEffect(() => {
    if (shown.value === null) load()
    // Moves the focus, so that a screen reader announces the new page. The first page is an exception, because it is
    // read from its start, and so is a view that has set the focus itself, on its query field or on the last used link.
    if (isMoved && !main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true })
    isMoved = true
  }, [])
  const content = !isOpen
    ? h(SignIn, { needs: view.needs })
    : fault.value !== null
      ? h(
          'div',
          { class: 'empty', role: 'alert' },
          h('p', null, `This page could not be loaded. ${fault.value}`),
          h('button', { type: 'button', class: 'button', onClick: load }, 'Try again'),
        )
      : shown.value === null
        ? isUnreachable.value
          ? [
              h('h1', { key: 'title' }, view.title),
              h('p', { key: 'away', class: 'empty', role: 'status' }, waitingWords),
            ]
          : null
        : h(shown.value, { place: at, params })
  const name = view.path.split('/')[1] || 'welcome'
  const kind = view.path === '/docs' ? 'reference' : isOpen ? name : 'sign-in'
  return h('main', { id: 'main', ref: main, tabindex: -1, class: `view view-${kind}` }, content)
}

let isMoved = false

function NotFound(): ComponentChild {
  return h(
    'main',
    { id: 'main', tabindex: -1, class: 'view' },
    h('h1', null, 'Page not found'),
    h('p', null, h('a', { href: '/' }, 'Start page')),
  )
}
