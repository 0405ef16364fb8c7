import { effect, signal } from '@preact/signals'
import { callApi } from './call-api.ts'
import { credential } from './session.ts'

export interface Entitlement {
  readonly entitlement_id: string
  readonly datasets: readonly string[]
  readonly platforms?: readonly string[] | null
  readonly languages?: readonly string[] | null
  readonly regions?: readonly string[] | null
  readonly published_from?: string | null
  readonly published_to?: string | null
  readonly fields?: readonly string[] | null
}

export interface Account {
  readonly application_id: string
  readonly name: string
  readonly entitlements: readonly Entitlement[]
  readonly policy: {
    readonly requests_per_second: number
    readonly burst: number
    readonly max_in_flight: number
    readonly daily_quotas?: Readonly<Record<string, number | null>> | null
    readonly analysis_enabled: boolean
    readonly analysis?: { readonly types?: readonly string[]; readonly scheduling?: boolean } | null
    readonly live?: { readonly enabled?: boolean; readonly max_items_per_platform?: number } | null
  }
  readonly embedding_profiles: readonly { readonly id: string; readonly is_default: boolean }[]
  readonly earliest_ingested_at: string | null
  readonly latest_ingested_at: string | null
  readonly feed_retained_from: string | null
  readonly usage: { readonly day: string; readonly operations: Readonly<Record<string, number>> }
}

/** The signed-in application as last read; null while it is unknown. */
export const account = signal<Account | null>(null)

export async function readAccount(): Promise<Account> {
  account.value = await callApi<Account>('GET', '/v1/account')
  return account.value
}

/** Reads the account whenever the credential changes. Errors are shown by the views that need it. */
export function watchAccount(): void {
  let known = ''
  effect(() => {
    const key = credential('consumer').value
    if (key === known) return
    known = key
    account.value = null
    if (key !== '') readAccount().catch(() => {})
  })
}
