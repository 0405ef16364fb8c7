import { effect, signal } from '@preact/signals'
import { ask } from '../app/ask.ts'
import { credential } from '../app/session.ts'

const roles = ['viewer', 'operator', 'owner'] as const
export type Role = (typeof roles)[number]

/** What the signed-in admin token may do; null until the server has said so. */
const role = signal<Role | null>(null)

let known = ''
effect(() => {
  const token = credential('admin').value
  if (token === known) return
  known = token
  role.value = null
  if (token === '') return
  // A server of an older version does not know the question; then it says itself what may not be done.
  ask<{ readonly role: Role }>('GET', '/admin/v1/self', { as: 'admin' }).then(
    (self) => {
      if (credential('admin').peek() === token) role.value = self.role
    },
    () => {},
  )
})

/** Why the signed-in token may not do what needs that role; null where it may. */
export function lacks(needed: Role): string | null {
  if (role.value === null || roles.indexOf(role.value) >= roles.indexOf(needed)) return null
  return `This needs the role ${needed}; you are signed in as ${role.value}.`
}
