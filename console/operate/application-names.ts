import { type ComponentChild, Fragment, h } from 'preact'
import type { Application } from './answers.ts'
import { useRead } from './read.ts'

/** One that was made meanwhile is called by its id until then. */
const everyMs = 30_000

export type ApplicationNames = ReadonlyMap<string, string>

/** Lists name applications by their ids; people know them by their names. */
export function useApplicationNames(): ApplicationNames {
  const { body } = useRead<{ applications: readonly Application[] }>('/admin/v1/applications', {}, everyMs)
  return new Map(body?.applications.map((one) => [one.application_id, one.name]))
}

export function ApplicationLink({
  id,
  names,
}: {
  readonly id: string
  readonly names: ApplicationNames
}): ComponentChild {
  return h(
    Fragment,
    null,
    h('a', { href: `/operate/applications/${encodeURIComponent(id)}`, dir: 'auto' }, names.get(id) ?? id),
    names.has(id) ? h('small', null, id) : null,
  )
}
