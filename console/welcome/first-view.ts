import { credential } from '../app/session.ts'

/** Where whoever has signed in begins. */
export const firstView = (): string => {
  if (credential('consumer').value !== '') return '/search'
  return credential('admin').value === '' ? '/' : '/operate/overview'
}
