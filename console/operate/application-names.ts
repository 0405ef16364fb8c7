import { type ComponentChild, Fragment, h } from 'preact'
import type { Application } from './answers.ts'
import { useRead } from './read.ts'

/** Until the next read, an application that was just created is shown by its ID. */
const everyMs = 30_000

export type ApplicationNames = ReadonlyMap<string, string>

/** Maps the application IDs in lists to the names that people know. */
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
