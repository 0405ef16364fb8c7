import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { userInfo } from 'node:os'

/** Returns a user for a server that refuses to run as root; null if this process is not root. */
export function unprivileged(): { uid: number; gid: number } | null {
  if (userInfo().uid !== 0) return null
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  return port
}
