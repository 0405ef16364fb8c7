const soonMs = 7 * 86_400_000

export interface Dated {
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

/** Returns the state of a key or token, as one word or two. */
export function keyState({ expires_at: expires, revoked_at: revoked }: Dated, now = Date.now()): string {
  if (revoked !== null) return 'revoked'
  const remainingMs = expires === null ? Number.POSITIVE_INFINITY : Date.parse(expires) - now
  if (remainingMs <= 0) return 'expired'
  return remainingMs < soonMs ? 'expires soon' : 'active'
}
