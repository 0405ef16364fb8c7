import { effect, signal } from '@preact/signals'
import { ask } from './ask.ts'
import { credential } from './session.ts'

const roles = ['viewer', 'operator', 'owner'] as const
export type Role = (typeof roles)[number]

export interface Self {
  /** Null for the instance's own token, which belongs to no person. */
  readonly name: string | null
  readonly role: Role
}

/** The signed-in administrator and their role; null until the server has answered. */
export const self = signal<Self | null>(null)

let known = ''
effect(() => {
  const token = credential('admin').value
  if (token === known) return
  known = token
  self.value = null
  if (token === '') return
  // An older server does not have this route. It still refuses what the token may not do.
  ask<Self>('GET', '/admin/v1/self', { as: 'admin' }).then(
    (answer) => {
      if (credential('admin').peek() === token) self.value = answer
    },
    () => {},
  )
})

/** Returns why the signed-in token may not do something that needs this role; null if it may. */
export function lacks(needed: Role): string | null {
  const role = self.value?.role
  if (role === undefined || roles.indexOf(role) >= roles.indexOf(needed)) return null
  return `This needs the role ${needed}; you are signed in as ${role}.`
}
