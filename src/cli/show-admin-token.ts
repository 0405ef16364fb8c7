import type { Instance } from '../compose/compose.ts'

/**
 * Prints a new admin token. Called before the server listens, because listening may fail, and only this start has the
 * token.
 */
export async function showAdminToken(
  { adminToken }: Pick<Instance, 'adminToken'>,
  say: (text: string) => void,
): Promise<void> {
  if (!adminToken.mustBeShown) return
  say(
    adminToken.made === null
      ? 'An earlier start may have ended before it showed the admin token: `tidemark admin-token` makes a new one.'
      : `Admin token, shown only once: ${adminToken.made}`,
  )
  await adminToken.shown()
}
