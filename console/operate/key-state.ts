const soonMs = 7 * 86_400_000

export interface Dated {
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

/** Says in a word whether a key or token works. */
export function keyState({ expires_at: expires, revoked_at: revoked }: Dated, now = Date.now()): string {
  if (revoked !== null) return 'revoked'
  const left = expires === null ? Number.POSITIVE_INFINITY : Date.parse(expires) - now
  if (left <= 0) return 'expired'
  return left < soonMs ? 'expires soon' : 'active'
}
