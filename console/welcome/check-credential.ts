import { batch } from '@preact/signals'
import { credential, endedBecause, type Scheme } from '../app/session.ts'

/** For each kind of credential: a request that checks it, and the prefix by which it is recognised. */
const kinds = {
  consumer: { path: '/v1/account', prefix: 'tmc_' },
  admin: { path: '/admin/v1/datasets', prefix: 'tma_' },
} as const
const collectorPrefix = 'tml_'

/** Checks a credential with the server before storing it. Throws an error with a message that can be shown. */
export async function signIn(secret: string, needs: Scheme | null): Promise<void> {
  if (secret.startsWith(collectorPrefix)) {
    throw new Error('This is a collector key, which can only send documents. Sign in with an application key.')
  }
  // Credentials have only these characters, and a header could not contain others.
  if (!/^[\x21-\x7e]+$/.test(secret)) throw new Error('A key has only ASCII characters and no spaces. Copy it again.')
  // An operator may have set an admin token with any prefix.
  const scheme: Scheme = secret.startsWith(kinds.consumer.prefix) ? 'consumer' : 'admin'
  if (needs !== null && scheme !== needs) {
    throw new Error(
      needs === 'admin'
        ? 'This is an application key. This page needs an admin token.'
        : 'This page needs an application key, which begins with tmc_.',
    )
  }
  const answer = await fetch(kinds[scheme].path, { headers: { authorization: `Bearer ${secret}` }, cache: 'no-store' })
  if (answer.status === 401) {
    throw new Error('This key is not valid. It may be mistyped, revoked or expired.')
  }
  if (answer.status === 429) throw new Error('Too many requests with this key. Try again in a moment.')
  if (!answer.ok)
    throw new Error(`The server could not check the key (status ${answer.status}). Try again in a moment.`)
  storeCredential(scheme, secret)
}

/** Redeems the code of a one-time sign-in address. */
export async function signInByCode(code: string): Promise<void> {
  const answer = await fetch('/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: code.slice(0, 100) }),
  })
  const body = (await answer.json()) as { readonly api_key?: string; readonly message?: string }
  if (!answer.ok || body.api_key === undefined) {
    throw new Error(
      'This sign-in link was already used or has expired. Sign in with a key, or restart the server for a new link.',
    )
  }
  storeCredential('consumer', body.api_key)
}

function storeCredential(scheme: Scheme, secret: string): void {
  batch(() => {
    endedBecause.value = ''
    credential(scheme).value = secret
  })
}
