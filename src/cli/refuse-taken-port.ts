import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../config.ts'

/**
 * Rejects where nobody could listen, as listening would. Tried before anything is opened or made: a new folder, an admin
 * token that is shown once, or a store that is brought up to date would be for nothing.
 */
export async function refuseTakenPort({ host, port }: Pick<Config, 'host' | 'port'>): Promise<void> {
  if (port === 0) return
  const server = createServer().listen({ host, port, exclusive: true })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
