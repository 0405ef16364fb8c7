import { type ComponentChild, h } from 'preact'

const tabs = { runs: ['/analysis', 'Runs'], subscriptions: ['/analysis/subscriptions', 'Subscriptions'] } as const

export function AnalysisTabs({ current }: { readonly current: keyof typeof tabs }): ComponentChild {
  return h(
    'nav',
    { class: 'tabs', 'aria-label': 'Analysis' },
    Object.entries(tabs).map(([name, [href, title]]) =>
      h('a', { key: name, href, 'aria-current': name === current ? 'page' : undefined }, title),
    ),
  )
}
