import { credential } from '../app/session.ts'

/** Returns the view that is shown after signing in. */
export const firstView = (): string => {
  if (credential('consumer').value !== '') return '/search'
  return credential('admin').value === '' ? '/' : '/operate/overview'
}
