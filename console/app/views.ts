import type { ComponentType } from 'preact'
import type { IconName } from './icons.ts'
import type { Scheme } from './session.ts'
import type { ViewProps } from './view-props.ts'

/**
 * A view of the console. Its code and styles are loaded when it is first opened. The server also lists its path
 * (src/http/console-routes.ts), so that the address can be opened, reloaded and shared.
 */
export interface View {
  /** Has `:name` for a variable segment. */
  readonly path: string
  readonly title: string
  /** Its entry in the navigation; null for a view that is reached from others. */
  readonly listed: { readonly group: 'Read' | 'Operate' | 'Learn'; readonly icon: IconName } | null
  /** The required credential. Without it the view shows the sign-in form. Null if none is needed. */
  readonly needs: Scheme | null
  /** Files in styles/. All their rules are nested in the class `view-…`, so no view affects another. */
  readonly styles: readonly string[]
  readonly load: () => Promise<ComponentType<ViewProps>>
}

/** In the order of the navigation. */
export const views: readonly View[] = [
  {
    path: '/search',
    title: 'Search',
    listed: { group: 'Read', icon: 'search' },
    needs: 'consumer',
    styles: ['filters.css', 'switch.css', 'search.css'],
    load: async () => (await import('../search/search-view.ts')).SearchView,
  },
  {
    path: '/documents',
    title: 'Documents',
    listed: { group: 'Read', icon: 'documents' },
    needs: 'consumer',
    styles: ['filters.css', 'documents.css'],
    load: async () => (await import('../documents/documents-view.ts')).DocumentsView,
  },
  {
    path: '/documents/:id',
    title: 'Document',
    listed: null,
    needs: 'consumer',
    styles: ['filters.css', 'documents.css', 'document.css'],
    load: async () => (await import('../documents/document-view.ts')).DocumentView,
  },
  {
    path: '/changes',
    title: 'Changes',
    listed: { group: 'Read', icon: 'changes' },
    needs: 'consumer',
    styles: ['filters.css', 'changes.css'],
    load: async () => (await import('../changes/changes-view.ts')).ChangesView,
  },
  {
    path: '/analysis',
    title: 'Analysis',
    listed: { group: 'Read', icon: 'analysis' },
    needs: 'consumer',
    styles: ['analysis.css'],
    load: async () => (await import('../analysis/analysis-view.ts')).AnalysisView,
  },
  {
    path: '/analysis/subscriptions',
    title: 'Subscriptions',
    listed: null,
    needs: 'consumer',
    styles: ['analysis.css'],
    load: async () => (await import('../analysis/subscriptions-view.ts')).SubscriptionsView,
  },
  {
    path: '/analysis/runs/:run_id',
    title: 'Analysis run',
    listed: null,
    needs: 'consumer',
    styles: ['switch.css', 'analysis.css', 'analysis-results.css'],
    load: async () => (await import('../analysis/run-view.ts')).RunView,
  },
  {
    path: '/account',
    title: 'Account',
    listed: { group: 'Read', icon: 'account' },
    needs: 'consumer',
    styles: ['account.css'],
    load: async () => (await import('../account/account-view.ts')).AccountView,
  },
  {
    path: '/operate/overview',
    title: 'Overview',
    listed: { group: 'Operate', icon: 'gauge' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/overview-view.ts')).OverviewView,
  },
  {
    path: '/operate/applications',
    title: 'Applications',
    listed: { group: 'Operate', icon: 'key' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/applications-view.ts')).ApplicationsView,
  },
  {
    path: '/operate/applications/:application_id',
    title: 'Application',
    listed: null,
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/application-view.ts')).ApplicationView,
  },
  {
    path: '/operate/datasets',
    title: 'Datasets',
    listed: { group: 'Operate', icon: 'stack' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/datasets-view.ts')).DatasetsView,
  },
  {
    path: '/operate/erasures',
    title: 'Erasures',
    listed: { group: 'Operate', icon: 'erase' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/erasures-view.ts')).ErasuresView,
  },
  {
    path: '/operate/collectors',
    title: 'Collectors',
    listed: { group: 'Operate', icon: 'collector' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/collectors-view.ts')).CollectorsView,
  },
  {
    path: '/operate/runs',
    title: 'Run queue',
    listed: { group: 'Operate', icon: 'queue' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/runs-view.ts')).RunsView,
  },
  {
    path: '/operate/usage',
    title: 'Usage',
    listed: { group: 'Operate', icon: 'chart' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/usage-view.ts')).UsageView,
  },
  {
    path: '/operate/audit',
    title: 'Audit',
    listed: { group: 'Operate', icon: 'audit' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/audit-view.ts')).AuditView,
  },
  {
    path: '/operate/administrators',
    title: 'Administrators',
    listed: { group: 'Operate', icon: 'account' },
    needs: 'admin',
    styles: ['operate.css'],
    load: async () => (await import('../operate/administrators-view.ts')).AdministratorsView,
  },
  {
    path: '/',
    title: 'Welcome',
    listed: { group: 'Learn', icon: 'home' },
    needs: null,
    styles: ['welcome.css', 'sign-in.css'],
    load: async () => (await import('../welcome/welcome-view.ts')).WelcomeView,
  },
  {
    path: '/sign-in',
    title: 'Sign in',
    listed: null,
    needs: null,
    styles: ['sign-in.css'],
    load: async () => (await import('../welcome/sign-in-view.ts')).SignInView,
  },
  {
    path: '/docs',
    title: 'API reference',
    listed: { group: 'Learn', icon: 'reference' },
    needs: null,
    styles: ['reference.css', 'reference-navigation.css', 'reference-operation.css', 'reference-try.css'],
    load: async () => (await import('../reference/reference-view.ts')).ReferenceView,
  },
]

/** Returns the view of a path and the values of its variable segments; null if there is none. */
export function viewAt(path: string): { readonly view: View; readonly params: ViewProps['params'] } | null {
  for (const view of views) {
    const params = matched(view.path, path)
    if (params !== null) return { view, params }
  }
  return null
}

function matched(pattern: string, path: string): ViewProps['params'] | null {
  const [expected, actual] = [pattern.split('/'), path.split('/')]
  if (expected.length !== actual.length) return null
  const params: Record<string, string> = {}
  for (const [i, part] of expected.entries()) {
    if (part.startsWith(':')) params[part.slice(1)] = decoded(actual[i]!)
    else if (part !== actual[i]) return null
  }
  return params
}

/** Decodes a path segment. A badly escaped one stays as it is, and the view finds nothing of that name. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
