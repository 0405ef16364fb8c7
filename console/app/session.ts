import { computed, type Signal, signal } from '@preact/signals'

/**
 * The security schemes with which a reader can sign in. Credentials are kept in this tab's session storage and are sent
 * only to this host; closing the tab removes them.
 */
export type Scheme = 'consumer' | 'admin'

const prefix = 'tidemark.key.'
const signals = new Map<string, Signal<string>>()

/** The credential of a scheme; empty if there is none. Setting it stores it for this tab. */
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
    // Storage may be disabled. Then the credential is lost when the page is closed or reloaded.
  }
}

export const isSignedIn = computed(() => credential('consumer').value !== '' || credential('admin').value !== '')

/** Why the reader has to sign in again, shown at the form; empty on the first visit and after signing out. */
export const endedBecause = signal('')

export function signOut(): void {
  endedBecause.value = ''
  for (const scheme of ['consumer', 'collector', 'admin']) credential(scheme).value = ''
}

/** Removes a credential that the server has refused, unless it has been replaced since. */
export function refused(scheme: Scheme, sent: string): void {
  if (credential(scheme).value !== sent || sent === '') return
  endedBecause.value =
    scheme === 'consumer'
      ? 'This key no longer works: it was revoked or has expired. Sign in with another one.'
      : 'This admin token no longer works. Sign in with the current one.'
  credential(scheme).value = ''
}
