import { type ComponentChild, Fragment, h } from 'preact'
import { account } from '../app/account.ts'
import { health } from '../app/health.ts'
import { go } from '../app/router.ts'
import { credential, isSignedIn } from '../app/session.ts'
import { CodeBox } from '../shared/code-box.ts'
import { daysAgo } from '../shared/days-ago.ts'
import { firstView } from './first-view.ts'
import { SignIn } from './sign-in.ts'

/** Shows what Tidemark is, its state, the sign-in form, three requests to try, and links to the guides. */
export function WelcomeView(): ComponentChild {
  return h(
    Fragment,
    null,
    h(
      'section',
      { class: 'hero' },
      h(
        'div',
        { class: 'hero-text' },
        h('h1', null, 'Collected content, ready to\u00a0search, follow and analyse.'),
        h(
          'p',
          { class: 'lead' },
          'This is a Tidemark instance. Collectors send documents; applications read what they are entitled to through one HTTP API.',
        ),
        h(
          'p',
          { class: 'actions' },
          h('a', { class: 'button', href: '/docs' }, 'Open the API reference'),
          h('a', { class: 'button', href: '/openapi.json' }, 'openapi.json'),
        ),
      ),
      h('div', { class: 'hero-side' }, isSignedIn.value ? h(SignedIn, null) : h(SignIn, { needs: null, done: enter })),
    ),
    h(Status, null),
    h(Lines, null),
    h(
      'section',
      { class: 'part', 'aria-labelledby': 'guides' },
      h('h2', { id: 'guides' }, 'Guides'),
      h(
        'ul',
        { class: 'guides' },
        guides.map(([href, name, rest]) => h('li', { key: href }, h('a', { href }, name), rest)),
      ),
    ),
    h(
      'section',
      { class: 'part', 'aria-labelledby': 'stand' },
      h('h2', { id: 'stand' }, 'Who does what'),
      h(
        'p',
        null,
        'Collectors write with a collector key. Applications read with their own keys and pull changes from a feed. An operator decides with the admin token who can see what.',
      ),
      h(
        'picture',
        null,
        h('source', { media: '(max-width: 40rem)', srcset: '/assets/images/architecture-tall.svg' }),
        h('img', {
          class: 'picture',
          src: '/assets/images/architecture-wide.svg',
          alt: 'Collectors send documents to Tidemark. Applications send requests to Tidemark and get responses. An operator sets datasets, keys, entitlements and limits.',
        }),
      ),
    ),
    h('footer', { class: 'foot' }, h('p', null, 'This page loads nothing from other servers.')),
  )
}

const enter = (): void => go(firstView())

function SignedIn(): ComponentChild {
  const name = account.value?.name
  return h(
    'section',
    { class: 'sign-in' },
    h('h2', null, 'Signed in'),
    credential('consumer').value === ''
      ? h('p', null, 'With an admin token.')
      : h('p', null, name === undefined ? 'With an application key.' : ['As ', h('strong', null, name), '.']),
    h(
      'a',
      { class: 'button main', href: firstView() },
      credential('consumer').value === '' ? 'Open the overview' : 'Search',
    ),
  )
}

const guides = [
  ['/docs#guide-first-search', 'First search', ': by words, by meaning, or both'],
  ['/docs#guide-backfill-and-follow', 'Backfill and follow', ': keep a complete copy'],
  ['/docs#guide-entitlements', 'Entitlements', ': who can read what'],
  ['/docs#guide-collectors', 'Collectors', ': send documents'],
  ['/docs#errors', 'Errors', ': what each one means and what to do'],
] as const

function Status(): ComponentChild {
  const { state, words, rows, checkedAt } = health.value
  return h(
    'section',
    { class: 'status', 'aria-labelledby': 'status-title' },
    h(
      'div',
      null,
      h('h2', { id: 'status-title' }, 'Status'),
      h('p', { class: 'verdict', 'data-state': state, role: 'status' }, words),
      h('p', { class: 'checked-at' }, checkedAt === null ? '' : `Checked at ${checkedAt.toLocaleTimeString()}`),
    ),
    h(
      'dl',
      null,
      rows.map(([name, good, detail]) =>
        h('div', { key: name }, h('dt', null, name), h('dd', { 'data-state': good ? 'good' : 'bad' }, detail)),
      ),
    ),
  )
}

interface Line {
  readonly path: string
  readonly title: string
  readonly data?: string
  readonly query?: string
}

const lines: readonly Line[] = [
  {
    path: '/v1/search',
    title: 'Search',
    data: `-d '{"query": "tidal power", "mode": "hybrid", "limit": 3, "include_highlights": true}'`,
  },
  {
    path: '/v1/documents/browse',
    title: 'Browse the last 30 days, newest first',
    query: `?limit=3&include_snapshot=true&created_from=${daysAgo(30)}`,
  },
  { path: '/v1/account', title: 'See what this key can do' },
]

function curlOf({ path, data, query = '' }: Line): string {
  const url = `${location.origin}${path}${query}`
  const parts = [`curl -s ${query === '' ? url : `'${url}'`}`, '-H "Authorization: Bearer $TIDEMARK_KEY"']
  if (data) parts.push("-H 'Content-Type: application/json'", data)
  return parts.join(' \\\n  ')
}

function Lines(): ComponentChild {
  return h(
    'section',
    { class: 'part', 'aria-labelledby': 'begin' },
    h('h2', { id: 'begin' }, 'Three requests to try'),
    h(
      'p',
      null,
      'Set ',
      h('code', null, 'TIDEMARK_KEY'),
      ' to an application key: ',
      h('code', null, 'tidemark app create "My app" --dataset DATASET'),
      ' prints one. A server started with sample data has printed one already.',
    ),
    h(
      'div',
      { class: 'lines' },
      lines.map((line) => h(CodeBox, { key: line.path, title: line.title, text: curlOf(line) })),
    ),
    h(
      'p',
      { class: 'next' },
      'A listing covers up to 31 days. For older documents, set ',
      h('code', null, 'created_from'),
      ' and ',
      h('code', null, 'created_to'),
      '.',
    ),
  )
}
