import { type ComponentChild, Fragment, h } from 'preact'
import type { Application } from './answers.ts'
import { useRead } from './read.ts'

/** A new application is shown by its ID until the next read. */
const everyMs = 30_000

export type ApplicationNames = ReadonlyMap<string, string>

/** Returns the names of all applications by ID. */
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
