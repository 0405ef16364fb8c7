import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../settings/config.ts'

/**
 * Rejects, as listening would, if the port cannot be used. Call it before anything is opened or created, so that a
 * failed start does not leave a new folder, an admin token that was shown, or an upgraded store.
 */
export async function refuseTakenPort({ host, port }: Pick<Config, 'host' | 'port'>): Promise<void> {
  if (port === 0) return
  const server = createServer().listen({ host, port, exclusive: true })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
