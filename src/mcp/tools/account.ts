import { fittingFields } from '../token-budget.ts'
import { tool } from '../tool.ts'

interface Account {
  readonly name: string
  readonly entitlements: readonly object[]
  readonly policy: object
  readonly embedding_profiles: readonly { readonly id: string; readonly is_default: boolean }[]
  readonly earliest_ingested_at: string | null
  readonly latest_ingested_at: string | null
  readonly usage: object
}

export const account = tool(
  {
    name: 'account',
    title: 'See what this key can read',
    description:
      'What this key can read (datasets, platforms, languages, fields), its limits, its usage today, and the period in which documents were ingested. ' +
      'Call it when something is refused, and once before you plan many calls. A condition that is absent from an entitlement allows any value.',
    quotes: false,
    fields: {},
  },
  async (_input, api, tokens) => {
    const { name, entitlements, policy, embedding_profiles, earliest_ingested_at, latest_ingested_at, usage } =
      await api.get<Account>('/v1/account')
    const fields = { name, policy, earliest_ingested_at, latest_ingested_at, embedding_profiles, usage, entitlements }
    // A truncated list would understate the permissions, so `left_out` counts the omitted values.
    const { shown, left: left_out } = fittingFields(fields, tokens - tokensOfRest)
    return { ...shown, left_out }
  },
)

/** Tokens for the names of the omitted fields. */
const tokensOfRest = 50
