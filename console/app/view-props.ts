import type { Place } from './router.ts'

/** The properties of a view: the location, and the values of the variable segments of its path. */
export interface ViewProps {
  readonly place: Place
  readonly params: Readonly<Record<string, string>>
}
