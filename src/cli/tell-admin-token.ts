import type { Instance } from '../compose/compose.ts'

/** Shown before listening, which may fail: the token is stored from now on and cannot be shown again. */
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
