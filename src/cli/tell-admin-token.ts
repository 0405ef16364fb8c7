import type { Instance } from '../compose.ts'

/** Before listening, which may still fail: the token is kept from now on and will not be shown again. */
export async function tellAdminToken(
  { adminToken }: Pick<Instance, 'adminToken'>,
  say: (text: string) => void,
): Promise<void> {
  if (!adminToken.isUntold) return
  say(
    adminToken.made === null
      ? 'An earlier start may have ended before showing the admin token: `tidemark admin-token` makes a new one.'
      : `Admin token, shown only once: ${adminToken.made}`,
  )
  await adminToken.told()
}
