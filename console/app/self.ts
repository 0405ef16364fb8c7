import { effect, signal } from '@preact/signals'
import { callApi } from './call-api.ts'
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
  // If this fails, the role stays unknown. The server still refuses what the token may not do.
  callApi<Self>('GET', '/admin/v1/self', { as: 'admin' }).then(
    (answer) => {
      if (credential('admin').peek() === token) self.value = answer
    },
    () => {},
  )
})

/** Returns why the signed-in token may not do something that needs this role; null if it may. */
export function refusalFor(needed: Role): string | null {
  const role = self.value?.role
  if (role === undefined || roles.indexOf(role) >= roles.indexOf(needed)) return null
  return `This needs the role ${needed}; you are signed in as ${role}.`
}
