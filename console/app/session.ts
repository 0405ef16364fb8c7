import { computed, type Signal, signal } from '@preact/signals'

/**
 * The credentials that were typed in, by the security scheme they belong to. They live in this tab's session storage and
 * go nowhere but into requests to this host; closing the tab forgets them.
 */
export type Scheme = 'consumer' | 'admin'

const prefix = 'tidemark.key.'
const signals = new Map<string, Signal<string>>()

/** The credential of a scheme; empty where there is none. Setting it keeps it for this tab. */
export function credential(scheme: string): Signal<string> {
  const known = signals.get(scheme)
  if (known !== undefined) return known
  const made = signal(stored(scheme))
  made.subscribe((value) => store(scheme, value))
  signals.set(scheme, made)
  return made
}

function stored(scheme: string): string {
  try {
    return sessionStorage.getItem(prefix + scheme) ?? ''
  } catch {
    return ''
  }
}

function store(scheme: string, value: string): void {
  try {
    if (value === '') sessionStorage.removeItem(prefix + scheme)
    else sessionStorage.setItem(prefix + scheme, value)
  } catch {
    // Storage may be switched off; then the credential lasts as long as the page.
  }
}

export const isSignedIn = computed(() => credential('consumer').value !== '' || credential('admin').value !== '')

/** Why somebody has to sign in again, to be said where they do; empty when they have only just come, or left. */
export const endedBecause = signal('')

export function signOut(): void {
  endedBecause.value = ''
  for (const scheme of ['consumer', 'collector', 'admin']) credential(scheme).value = ''
}

/** The server no longer takes the credential that was sent; one that was put in its place since is left alone. */
export function refused(scheme: Scheme, sent: string): void {
  if (credential(scheme).value !== sent || sent === '') return
  endedBecause.value =
    scheme === 'consumer'
      ? 'This key no longer works: it was revoked or has expired. Sign in with another one.'
      : 'This admin token no longer works. Sign in with the current one.'
  credential(scheme).value = ''
}
