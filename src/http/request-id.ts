import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { credentialKinds } from '../access/credential-kinds.ts'

const wellFormed = /^[A-Za-z0-9._:+/=-]{1,128}$/

/** A well-formed id from the caller is kept, so that its logs and ours can be read together; never one that is a secret. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && wellFormed.test(given) && !holdsCredential(given, headers.authorization)
    ? given
    : randomUUID()
}

/** Something of the form of our keys, or what the request itself came with: an admin token may be of any form. */
function holdsCredential(id: string, authorization: string | undefined): boolean {
  const own = authorization?.slice(authorization.lastIndexOf(' ') + 1) ?? ''
  return Object.values(credentialKinds).some(({ prefix }) => id.includes(prefix)) || (own !== '' && id.includes(own))
}
