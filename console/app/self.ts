import { effect, signal } from '@preact/signals'
import { ask } from './ask.ts'
import { credential } from './session.ts'

const roles = ['viewer', 'operator', 'owner'] as const
export type Role = (typeof roles)[number]

export interface Self {
  /** Null of the token of the instance, which is nobody's own. */
  readonly name: string | null
  readonly role: Role
}

/** Whose admin token is signed in, and what it may do; null until the server has said so. */
export const self = signal<Self | null>(null)

let known = ''
effect(() => {
  const token = credential('admin').value
  if (token === known) return
  known = token
  self.value = null
  if (token === '') return
  // A server of an older version does not know the question; then it says itself what may not be done.
  ask<Self>('GET', '/admin/v1/self', { as: 'admin' }).then(
    (answer) => {
      if (credential('admin').peek() === token) self.value = answer
    },
    () => {},
  )
})

/** Why the signed-in token may not do what needs that role; null where it may. */
export function lacks(needed: Role): string | null {
  const role = self.value?.role
  if (role === undefined || roles.indexOf(role) >= roles.indexOf(needed)) return null
  return `This needs the role ${needed}; you are signed in as ${role}.`
}
