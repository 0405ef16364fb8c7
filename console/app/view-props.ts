import type { Place } from './router.ts'

/** What a view is given: where the reader is, and the parts of the path that the view's own path names. */
export interface ViewProps {
  readonly place: Place
  readonly params: Readonly<Record<string, string>>
}
